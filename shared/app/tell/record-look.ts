import type { DisruptionCount, DisruptionState } from '../../contract/figures/disruption-figures.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Writes the figures of a look that the relay exposes as metrics. Figures that cannot be written are lost, and nothing
 * else is.
 */
export async function recordLook(
  ports: Ports,
  look: {
    readonly id: string;
    readonly counts: ReadonlyArray<DisruptionCount>;
    readonly state: DisruptionState | null;
  },
): Promise<void> {
  try {
    const outcome = await ports.figuresLog.addLook({ ...look, atMs: ports.now() });
    if (outcome === 'crowded') ports.log('figures-lost', { reason: 'other instances wrote at the same time' });
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    ports.log('figures-lost', { reason: error.message });
  }
}
