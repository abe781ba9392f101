import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Ports } from '../ports.ts';

/** What an interruption does without, where that cannot be done now. */
type Step = 'taint' | 'drain' | 'name-replacements';

/** What a step answers; null, and a line in the log, where it is refused or cannot be done now. */
export async function orRefused<Answer>(
  ports: Pick<Ports, 'log'>,
  { metadata }: NodeClaim,
  step: Step,
  work: () => Promise<Answer>,
): Promise<Answer | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    ports.log('interruption-step-refused', { claim: metadata.name, step, why: error.message });
    return null;
  }
}
