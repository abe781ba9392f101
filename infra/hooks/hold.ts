/** Holds the whole process for so long, for code that waits for nothing. */
export function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
