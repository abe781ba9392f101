/** Numbers from 0 to 1, the same for the same seed (Park and Miller's generator). */
export function drawing(seed: number): () => number {
  let state = 7_919 * seed + 1;
  const draw = (): number => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  // Seeds beside each other begin alike.
  for (let turn = 0; turn < 5; turn++) draw();
  return draw;
}
