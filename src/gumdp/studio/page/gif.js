// A GIF encoder: the most frequent colours as palette, only what changed in each frame, LZW as in the GIF89a specification.
const LOOP = [0x21, 0xff, 11, ...[..."NETSCAPE2.0"].map((c) => c.charCodeAt(0)), 3, 1, 0, 0, 0];

export async function encodeGif([width, height], count, frame, delays, tell) {
  const out = new Bytes(),
    palette = choosePalette([frame(0), frame(Math.floor(count / 2)), frame(count - 1)]),
    find = finder(palette);
  out.text("GIF89a");
  out.short(width);
  out.short(height);
  out.add([0xf7, 0, 0]);
  for (let k = 0; k < 256; k++) out.add(palette[k] || [0, 0, 0]);
  out.add(LOOP);
  let before = null;
  for (let k = 0; k < count; k++) {
    const pixels = indices(frame(k), find),
      box = before ? changed(before, pixels, width, height) : [0, 0, width, height];
    out.add([0x21, 0xf9, 4, 4]);
    out.short(delays[k]);
    out.add([0, 0]);
    out.add([0x2c]);
    box.forEach((v) => out.short(v));
    out.add([0]);
    const part = new Uint8Array(box[2] * box[3]);
    for (let y = 0; y < box[3]; y++)
      part.set(pixels.subarray((box[1] + y) * width + box[0], (box[1] + y) * width + box[0] + box[2]), y * box[2]);
    compress(part, out);
    before = pixels;
    if (k % 8 === 7) {
      tell(k + 1);
      await new Promise((done) => setTimeout(done));
    }
  }
  out.add([0x3b]);
  return out.done();
}

class Bytes {
  constructor() {
    this.data = new Uint8Array(1 << 16);
    this.size = 0;
  }
  room(n) {
    if (this.size + n > this.data.length) {
      const more = new Uint8Array(2 * this.data.length + n);
      more.set(this.data);
      this.data = more;
    }
  }
  add(bytes) {
    this.room(bytes.length);
    this.data.set(bytes, this.size);
    this.size += bytes.length;
  }
  byte(b) {
    this.room(1);
    this.data[this.size++] = b;
  }
  short(v) {
    this.add([v & 255, (v >> 8) & 255]);
  }
  text(t) {
    this.add([...t].map((c) => c.charCodeAt(0)));
  }
  done() {
    return this.data.slice(0, this.size);
  }
}

const bucket = (r, g, b) => ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);

function choosePalette(samples) {
  const seen = new Map();
  for (const data of samples)
    for (let i = 0; i < data.length; i += 4) {
      const key = bucket(data[i], data[i + 1], data[i + 2]),
        entry = seen.get(key);
      if (entry) entry[3]++;
      else seen.set(key, [data[i], data[i + 1], data[i + 2], 1]);
    }
  return [...seen.values()]
    .sort((a, b) => b[3] - a[3])
    .slice(0, 256)
    .map(([r, g, b]) => [r, g, b]);
}

function finder(palette) {
  const known = new Map();
  return (r, g, b) => {
    const key = (r << 16) | (g << 8) | b,
      found = known.get(key);
    if (found !== undefined) return found;
    let best = 0,
      least = Infinity;
    palette.forEach(([x, y, z], k) => {
      const far = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2;
      if (far < least) [least, best] = [far, k];
    });
    known.set(key, best);
    return best;
  };
}

function indices(data, find) {
  const found = new Uint8Array(data.length / 4);
  for (let i = 0, k = 0; i < data.length; i += 4, k++) found[k] = find(data[i], data[i + 1], data[i + 2]);
  return found;
}

function changed(a, b, width, height) {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++)
      if (a[i] !== b[i]) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  return right < left ? [0, 0, 1, 1] : [left, top, right - left + 1, bottom - top + 1];
}

function compress(pixels, out) {
  const clear = 256,
    end = 257;
  let size = 9,
    next = 258,
    bits = 0,
    held = 0,
    table = new Map(),
    block = [];
  const flush = () => {
    if (block.length) {
      out.byte(block.length);
      out.add(block);
      block = [];
    }
  };
  const emit = (code) => {
    held |= code << bits;
    bits += size;
    while (bits >= 8) {
      block.push(held & 255);
      held >>>= 8;
      bits -= 8;
      if (block.length === 255) flush();
    }
  };
  out.byte(8);
  emit(clear);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = (prefix << 8) | pixels[i],
      code = table.get(key);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    emit(prefix);
    if (next < 4096) {
      table.set(key, next++);
      if (next > 1 << size && size < 12) size++;
    } else {
      emit(clear);
      [table, next, size] = [new Map(), 258, 9];
    }
    prefix = pixels[i];
  }
  emit(prefix);
  emit(end);
  if (bits) block.push(held & 255);
  flush();
  out.byte(0);
}
