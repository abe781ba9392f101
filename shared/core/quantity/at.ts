/** The number there; 0 past the end, which loops over arrays of known length do not come to. */
export function at(numbers: ArrayLike<number>, index: number): number {
  return numbers[index] ?? 0;
}
