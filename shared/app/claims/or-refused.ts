import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RefusedError, RetryableError, TerminalError } from '../../ports/errors.ts';
import type { Refusal } from '../../ports/kubernetes.ts';
import type { Ports } from '../ports/ports.ts';

/** What an interruption does without, where that cannot be done now. */
type Step = 'taint' | 'drain' | 'name-replacements';

/**
 * What a step returns; null, and a line in the log, where it is refused or cannot be done, now or ever. What a policy
 * denies is given to `deny`, to be told when there is time.
 */
export async function orRefused<Answer>(
  ports: Pick<Ports, 'log'>,
  { metadata }: NodeClaim,
  step: Step,
  work: () => Promise<Answer>,
  deny: (refusal: Refusal) => void = () => undefined,
): Promise<Answer | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    if (error instanceof RefusedError) deny(error.refusal);
    ports.log('interruption-step-refused', { claim: metadata.name, step, why: error.message });
    return null;
  }
}
