import { Reason } from '../cli/documents/reason-format.ts';
import type { KeptReason } from '../shared/core/disruption/plan/kept-reason.ts';
import { renderKept } from '../shared/core/disruption/plan/render-kept.ts';

type Samples = { readonly [Kind in KeptReason['kind']]: Extract<KeptReason, { kind: Kind }> };

const [nodePool, pod] = ['general', 'default/web-1'];

/** One of each kind, with names that stand for yours. */
const samples: Samples = {
  unmanaged: { kind: 'unmanaged' },
  'no-such-pool': { kind: 'no-such-pool', nodePool },
  leaving: { kind: 'leaving' },
  'not-initialized': { kind: 'not-initialized' },
  'write-denied': { kind: 'write-denied' },
  'do-not-disrupt': { kind: 'do-not-disrupt' },
  'pod-do-not-disrupt': { kind: 'pod-do-not-disrupt', pod },
  'pod-budget': { kind: 'pod-budget', pod, budget: 'default/web', known: true },
  'two-pod-budgets': { kind: 'two-pod-budgets', pod, budgets: ['default/web', 'default/all'] },
  'awaits-pods': { kind: 'awaits-pods', pods: 2 },
  'pods-first': { kind: 'pods-first' },
  'holds-buffer': { kind: 'holds-buffer', buffer: 'default/spare' },
  'one-by-one': { kind: 'one-by-one', nodePool },
  'static-pool': { kind: 'static-pool', nodePool },
  'consolidation-off': { kind: 'consolidation-off', nodePool },
  'not-consolidatable': { kind: 'not-consolidatable', consolidateAfter: '5m' },
  'only-when-empty': { kind: 'only-when-empty', nodePool, pods: 3 },
  'unknown-price': { kind: 'unknown-price', instanceType: 'Standard_D4s_v5' },
  'pool-braked': { kind: 'pool-braked', nodePool, brake: { kind: 'paused', until: '2026-12-01T06:00:00Z' } },
  'node-budget': { kind: 'node-budget', nodePool, allowed: 1, disrupting: 1, error: null },
  'too-many-unhealthy': { kind: 'too-many-unhealthy', nodePool, unhealthy: 3, nodes: 9 },
  'pod-devices': { kind: 'pod-devices', pod },
  'no-place': { kind: 'no-place', pod },
  'not-replaced': {
    kind: 'not-replaced',
    because: 'Drifted',
    pod,
    refusals: [{ nodePool, kind: 'pool-not-usable', why: { kind: 'deleting' } }],
  },
  'empty-first': { kind: 'empty-first' },
  receives: { kind: 'receives', pods: 2 },
  'not-worth': { kind: 'not-worth', saving: 48_500, pods: 3, least: 145_000 },
  'nothing-cheaper': { kind: 'nothing-cheaper' },
  'plan-refused': { kind: 'plan-refused', finding: 'budget: NodePool general: 2 nodes at once, 1 allowed' },
  'no-order': { kind: 'no-order' },
};

interface Described {
  readonly description?: string;
  readonly properties: { readonly kind: { readonly const: string } };
}

/** The page `docs/reasons.md`, from the code that has the reasons. */
export function renderReasonsPage(): string {
  const left = (Reason.anyOf as unknown as ReadonlyArray<Described>).map(
    ({ description = '', properties }) => `| \`${properties.kind.const}\` | ${description} |`,
  );
  const kept = Object.values(samples).map((reason) => `| \`${reason.kind}\` | ${renderKept(reason, 'USD')} |`);
  return `# Reasons

This page is written by \`npm run generate\` from the code. The names are those of \`-o json\`, of decision records and of the log
line \`pods-left\`; they are kept.

## Why a pod gets no node

The event \`FailedScheduling\` and \`nodewright plan\` say it with the names of your objects, and with what would let the pod in.

| Reason | Meaning |
|---|---|
${left.join('\n')}

## Why a node stays

\`nodewright disrupt\` prints a reason for each node that stays. [Most of them are events](disruption.md#events) on the Node and its
NodeClaim too. The sentences are examples.

| Reason | Sentence |
|---|---|
${kept.join('\n')}
`;
}
