/** Has a pod in this phase ended, so that it holds nothing of its node any more, and never runs again? */
export function hasEnded(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
