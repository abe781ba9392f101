import type { Kind, WriteOutcome } from '../../ports/kubernetes.ts';
import { LostRaceError, RefusedError } from '../../ports/errors.ts';
import { alone, eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { tellDenied } from './tell-denied.ts';

/** Objects told of at once. */
const TOLD_AT_ONCE = 8;

/**
 * Says of which objects the status could not be written, and by whose word. Nothing waits for a status: the next look
 * writes it.
 */
export async function tellUnwritten(
  ports: Ports,
  names: ReadonlyArray<string>,
  settled: ReadonlyArray<Settled<WriteOutcome<unknown> | null>>,
): Promise<void> {
  await eachAlone(settled, TOLD_AT_ONCE, async (one, index) => {
    if (one.kind === 'failed') ports.log('status-not-written', { name: names[index] ?? '', why: one.error.message });
    else if (one.answer?.kind === 'refused') await tellDenied(ports, one.answer.refusal);
  });
}

/**
 * Writes the status of an object, which nothing waits for: where it cannot be written, the log says so, and people hear
 * by whose word. Throws only where somebody else wrote at the same time and `write` throws for that: what was judged is
 * old then.
 */
export async function statusIfPossible(
  ports: Ports,
  { kind, name }: { readonly kind: Kind; readonly name: string },
  write: () => Promise<WriteOutcome<unknown> | null>,
): Promise<void> {
  const written = await alone(write);
  if (written.kind === 'failed' && written.error instanceof LostRaceError) throw written.error;
  await tellUnwritten(ports, [name], [written]);
  if (written.kind === 'failed' && written.error instanceof RefusedError) {
    await tellDenied(ports, written.error.refusal, [{ kind, key: { name, namespace: null } }]);
  }
}
