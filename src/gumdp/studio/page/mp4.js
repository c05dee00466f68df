// An MP4 file: frames that the browser's own encoder made, in the boxes of ISO/IEC 14496-12. One track, one chunk.
const CODECS = ["avc1.42E01F", "vp09.00.31.08"]; // H.264 baseline, else VP9; both up to about a megapixel
const KEY = 50; // frames between two that stand alone
const BITS = 3e6; // a second
const TICKS = 100; // a second, as in a GIF

// The first way to encode films of that size that this browser has, or null.
export async function encoding([width, height]) {
  if (typeof VideoEncoder === "undefined") return null;
  for (const codec of CODECS) {
    const config = { codec, width, height, bitrate: BITS, framerate: 25, latencyMode: "quality" };
    if (codec.startsWith("avc1")) config.avc = { format: "avc" };
    const { supported } = await VideoEncoder.isConfigSupported(config).catch(() => ({ supported: false }));
    if (supported) return config;
  }
  return null;
}

// paint(k) draws frame k onto the canvas; delays are in hundredths of a second.
export async function encodeMp4(config, canvas, delays, paint, tell) {
  const samples = [];
  let about = null,
    failed = null,
    now = 0;
  const encoder = new VideoEncoder({
    output: (chunk, metadata) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      samples.push({ data, key: chunk.type === "key" });
      about = about || metadata?.decoderConfig?.description;
    },
    error: (error) => (failed = error),
  });
  encoder.configure(config);
  for (let k = 0; k < delays.length && !failed; k++) {
    paint(k);
    const frame = new VideoFrame(canvas, { timestamp: now * 1e4, duration: delays[k] * 1e4 });
    encoder.encode(frame, { keyFrame: k % KEY === 0 });
    frame.close();
    now += delays[k];
    if (k % 8 === 7) {
      tell(k + 1);
      await encoder.flush().catch(() => {});
    }
  }
  if (!failed) await encoder.flush().catch((error) => (failed = error));
  if (encoder.state !== "closed") encoder.close();
  if (failed) throw failed;
  return file(config, samples, delays, about && new Uint8Array(about.buffer || about));
}

// --- boxes ---

const int = (v) => [(v >>> 24) & 255, (v >>> 16) & 255, (v >>> 8) & 255, v & 255];
const short = (v) => [(v >>> 8) & 255, v & 255];
const letters = (text) => [...text].map((c) => c.charCodeAt(0));
const zeros = (n) => new Uint8Array(n);
const MATRIX = [1, 0, 0, 0, 1, 0, 0, 0, 0x4000].flatMap((v) => int(v << 16)); // the identity

function joined(parts) {
  const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
function box(name, ...parts) {
  const inside = joined(parts);
  return joined([int(inside.length + 8), letters(name), inside]);
}
const full = (name, flags, ...parts) => box(name, int(flags), ...parts); // with version 0 and flags
const table = (name, rows) => full(name, 0, int(rows.length), rows.flatMap((row) => row.flatMap(int)));

function file(config, samples, delays, about) {
  const head = box("ftyp", letters("isom"), int(512), letters("isomiso2mp41")),
    measured = movie(config, samples, delays, about, 0).length,
    data = samples.map((sample) => sample.data);
  return joined([
    head,
    movie(config, samples, delays, about, head.length + measured + 8),
    box("mdat", ...data),
  ]);
}

function movie({ codec, width, height }, samples, delays, about, offset) {
  const length = delays.reduce((a, b) => a + b, 0);
  const picture = joined([
    ...[zeros(6), short(1), zeros(16), short(width), short(height), int(72 << 16), int(72 << 16)],
    ...[zeros(4), short(1), zeros(32), short(24), short(0xffff)],
  ]);
  const entry = codec.startsWith("avc1")
    ? box("avc1", picture, box("avcC", about))
    : box("vp09", picture, full("vpcC", 1 << 24, [0, 31, 0x82, 2, 2, 2], short(0)));
  const keys = samples.flatMap((sample, k) => (sample.key ? [[k + 1]] : []));
  const tables = box(
    "stbl",
    full("stsd", 0, int(1), entry),
    table("stts", runs(delays)),
    table("stss", keys),
    table("stsc", [[1, samples.length, 1]]),
    full("stsz", 0, int(0), int(samples.length), samples.flatMap((sample) => int(sample.data.length))),
    table("stco", [[offset]]),
  );
  const where = box("dinf", full("dref", 0, int(1), full("url ", 1)));
  const media = box(
    "mdia",
    full("mdhd", 0, zeros(8), int(TICKS), int(length), short(0x55c4), zeros(2)), // no language
    full("hdlr", 0, zeros(4), letters("vide"), zeros(12), letters("film\0")),
    box("minf", full("vmhd", 1, zeros(8)), where, tables),
  );
  const track = full("tkhd", 3, zeros(8), int(1), zeros(4), int(length), zeros(16), MATRIX, int(width << 16), int(height << 16));
  const whole = full("mvhd", 0, zeros(8), int(TICKS), int(length), int(1 << 16), short(256), zeros(10), MATRIX, zeros(24), int(2));
  return box("moov", whole, box("trak", track, media));
}

// [how many frames, how long each], for frames that follow each other and last as long
function runs(delays) {
  const found = [];
  for (const delay of delays) {
    const last = found[found.length - 1];
    if (last && last[1] === delay) last[0]++;
    else found.push([1, delay]);
  }
  return found;
}
