import type { WriteOutcome } from '../../ports/kubernetes.ts';
import { eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { tellDenied } from './tell-denied.ts';

/** Objects told of at once. */
const TOLD_AT_ONCE = 8;

/** Says of which objects the status could not be written, and by whose word. Nothing waits for a status: the next look writes it. */
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
