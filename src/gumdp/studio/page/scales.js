// From sliders to numbers, and back.
export const iterationsAt = (x) => Number((10 ** (1 + (5 * x) / 100)).toPrecision(2));
export const sliderAt = (n) => (100 * (Math.log10(Math.max(10, n)) - 1)) / 5;
export const speedAt = (x) => 0.5 * 160 ** (x / 100); // steps a second
