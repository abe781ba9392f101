/** Numbers from 0 to 1, the same for the same start, which is a whole number above 0 (Park and Miller's generator). */
export function drawing(start: number): () => number {
  let state = start;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

/** The same by the number of a draw. */
export function drawingOf(seed: number): () => number {
  const draw = drawing(7_919 * seed + 1);
  // Seeds beside each other begin alike.
  for (let turn = 0; turn < 5; turn++) draw();
  return draw;
}
