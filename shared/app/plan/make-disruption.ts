import { soundDisruption, type AuditedDisruption } from '../../core/disruption/sound-disruption.ts';
import type { DisruptionInput } from '../../core/model/disruption-input.ts';
import { instant } from '../../core/quantity/units.ts';
import type { Gathered } from '../gather/gather.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Steps of a plan that one look begins: of thousands of nodes the audit of all takes as long as the plan, and the next
 * look plans again.
 */
const BEGUN = 1;

/**
 * Plans which nodes go, and has the plan audited. One that breaks its own rules is a bug of ours: it is logged with
 * what is wrong, and what takes its place does without the nodes that the findings name. Those say so by an event, as
 * all nodes that stay say why.
 */
export function makeDisruption(
  { disruptionPlanner, log, now }: Ports,
  { snapshot }: Gathered,
  input: DisruptionInput,
): AuditedDisruption {
  const { plan, refused } = soundDisruption(input, instant(now()), { planner: disruptionPlanner, most: BEGUN });
  if (refused !== null) {
    log('disruption-plan-refused', {
      snapshot: snapshot.version,
      findings: refused.findings.map(({ rule, text }) => `${rule}: ${text}`).join('; '),
      instead: refused.instead,
      leftOut: refused.leftOut.join(','),
    });
  }
  return plan;
}
