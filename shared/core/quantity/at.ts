/** The number there; 0 past the end, which loops over arrays of known length do not come to. */
export function at(numbers: ArrayLike<number>, index: number): number {
  return numbers[index] ?? 0;
}

/**
 * The same for one kind of array each, for hot loops: V8 compiles a function once for all who call it, and one that
 * sees only one kind of array reads it several times faster.
 */
export function doubleAt(numbers: Float64Array, index: number): number {
  return numbers[index] ?? 0;
}

/** As `doubleAt`, of whole numbers. */
export function intAt(numbers: Int32Array, index: number): number {
  return numbers[index] ?? 0;
}

/** As `doubleAt`, of flags. */
export function byteAt(numbers: Uint8Array, index: number): number {
  return numbers[index] ?? 0;
}
