import { digest } from '../../../contract/digest.ts';
import type { DisruptionCount } from '../../../contract/figures/disruption-figures.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { conditionOf } from '../../facts/conditions.ts';
import type { Ports } from '../../ports/ports.ts';
import { recordLook } from '../../tell/record-look.ts';

/** What Karpenter calls the eviction of pods from a node that goes for no reason of its own. */
const NO_REASON = 'Forceful Termination';

/** Counts what the API server answered to the evictions of one pass over the claim's node, for the relay's metrics. */
export async function countEvictions(
  ports: Ports,
  { metadata, status }: NodeClaim,
  answers: ReadonlyArray<number>,
): Promise<void> {
  if (answers.length === 0) return;
  const codes = answers.map((answer) => (answer < 300 ? EVICTED : String(answer)));
  const asked = [...Map.groupBy(codes, (code) => code)].map(([code, own]): DisruptionCount => {
    return { counter: 'pods_eviction_requests_total', labels: { code }, by: own.length };
  });
  const evicted = codes.filter((code) => code === EVICTED).length;
  const reason = conditionOf(status?.conditions, 'DisruptionReason')?.reason ?? NO_REASON;
  const drained: DisruptionCount = { counter: 'pods_drained_total', labels: { reason }, by: evicted };
  const id = digest(metadata.uid ?? metadata.name, String(ports.now()));
  await recordLook(ports, { id, counts: evicted > 0 ? [...asked, drained] : asked, state: null });
}

/** Karpenter's label for all that are granted. The API server says 201. */
const EVICTED = '200';
