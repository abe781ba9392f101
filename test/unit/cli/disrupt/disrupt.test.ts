import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { Errors } from 'typebox/schema';
import { describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import type { DisruptOptions } from '../../../../cli/command.ts';
import type { DisruptionDocument } from '../../../../cli/documents/disruption-format.ts';
import { renderDisruption } from '../../../../cli/disrupt/render-disruption.ts';
import { disruptFromFiles } from '../../../../cli/disrupt/disrupt-from-files.ts';
import { pool } from '../../../kit/cli/plan-manifests.ts';

vi.setConfig({ testTimeout: 30_000 });

const schema = JSON.parse(readFileSync('docs/schema/disruption.schema.json', 'utf8')) as object;

const generous = pool.replace(
  'spec:\n  template',
  'spec:\n  disruption: { consolidateAfter: 0s, budgets: [{ nodes: "100%" }] }\n  template',
);

/** A node of the pool that runs, with its claim. */
function machine(name: string): string {
  const labels =
    '{ karpenter.sh/nodepool: general, karpenter.sh/registered: "true", karpenter.sh/initialized: "true", kubernetes.io/arch: amd64, ' +
    'kubernetes.io/os: linux, node.kubernetes.io/instance-type: Standard_D4as_v5, topology.kubernetes.io/zone: westeurope-1, karpenter.sh/capacity-type: on-demand }';
  return `
apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: ${labels} }
spec: { providerID: azure:///${name} }
status: { capacity: { cpu: 4, memory: 16Gi, pods: 110 }, conditions: [{ type: Ready, status: "True" }] }
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: { name: claim-${name}, labels: ${labels} }
spec: { nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }, requirements: [] }
status: { providerID: azure:///${name}, nodeName: ${name}, conditions: [{ type: Consolidatable, status: "True", reason: Quiet, lastTransitionTime: "2026-11-20T08:00:00Z" }] }
`;
}

function pod(name: string, node: string, annotations = '{}'): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, annotations: ${annotations} }
spec: { nodeName: ${node}, containers: [{ name: main, image: x, resources: { requests: { cpu: 1, memory: 1Gi } } }] }
`;
}

const cluster = [
  generous,
  machine('a'),
  machine('b'),
  machine('c'),
  pod('one', 'a'),
  pod('two', 'b', '{ karpenter.sh/do-not-disrupt: "true" }'),
  pod('three', 'b'),
];

async function disrupt(manifests: ReadonlyArray<string>, options: Partial<DisruptOptions> = {}) {
  const all: DisruptOptions = {
    kind: 'disrupt',
    paths: ['-'],
    catalog: null,
    region: null,
    strict: false,
    nowMs: null,
    output: 'json',
    ...options,
  };
  return disruptFromFiles(all, Readable.from([manifests.join('\n---\n')]));
}

async function document(manifests: ReadonlyArray<string>): Promise<DisruptionDocument> {
  return JSON.parse((await disrupt(manifests)).text) as DisruptionDocument;
}

describe('nodewright disrupt', () => {
  test.each([
    ['nothing', ['{ apiVersion: v1, kind: List, items: [] }']],
    ['a pool', [generous]],
    ['a cluster', cluster],
  ])('a plan of %s obeys its schema', async (_, manifests) => {
    expect(Errors(schema as never, await document(manifests))).toEqual([true, []]);
  });

  test('says what goes, where its pods move, and what that saves', async () => {
    const { steps, kept, before, after, summary } = await document(cluster);
    expect(steps.map(({ reason, remove }) => [reason, remove])).toEqual([
      ['Empty', ['c']],
      ['Underutilized', ['a']],
    ]);
    expect(steps[1]?.moves).toEqual([{ pod: 'default/one', from: 'a', to: { kind: 'Node', name: 'b' } }]);
    const detail = 'pod default/two is annotated karpenter.sh/do-not-disrupt';
    expect(kept).toMatchObject([{ node: 'b', reason: 'pod-do-not-disrupt', detail, data: { pod: 'default/two' } }]);
    expect([before.nodes, after.nodes, summary.podsMoved]).toEqual([3, 1, 1]);
    expect(Number(summary.savedPerHour)).toBeCloseTo(Number(before.costPerHour) - Number(after.costPerHour), 6);
  });

  test('YAML and JSON say the same', async () => {
    const json = await document(cluster);
    const yaml = parse((await disrupt(cluster, { output: 'yaml' })).text) as DisruptionDocument;
    expect({ ...yaml, summary: { ...yaml.summary, solveMs: 0 } }).toEqual({
      ...json,
      summary: { ...json.summary, solveMs: 0 },
    });
  });

  test('tells amounts in the currency of the prices', async () => {
    const dollars = await document(cluster);
    expect(dollars.summary.currency).toBe('USD');
    const text = renderDisruption({ ...dollars, summary: { ...dollars.summary, currency: 'EUR' } }, 'moon');
    expect(text).not.toContain('$');
    expect(text).toMatch(/Saves EUR [\d.]+\/h, about EUR \d+ a month/);
    expect(text).toMatch(/3 nodes at EUR [\d.]+\/h now/);
  });

  test('the table says it for people, with a reason for what stays', async () => {
    const { text } = await disrupt(cluster, { output: 'table' });
    expect(text).toContain('2 nodes to remove, 1 pod to move, in 2 steps.');
    expect(text).toMatch(/1\s+Empty\s+1\s+0\s+0/);
    expect(text).toContain('1 pod-do-not-disrupt: pod default/two is annotated');
    expect(text).toMatch(/\d nodes at \$[\d.]+\/h now/);
    expect((await disrupt([generous], { output: 'table' })).text).toContain('No node can be removed.');
  });

  test('schedules are read as of the moment that is given', async () => {
    const nightly = pool.replace(
      'spec:\n  template',
      'spec:\n  disruption: { consolidateAfter: 0s, budgets: [{ nodes: "0", schedule: "0 9 * * *", duration: 8h }] }\n  template',
    );
    const at = async (text: string): Promise<number> => {
      const made = JSON.parse(
        (await disrupt([nightly, ...cluster.slice(1)], { nowMs: Date.parse(text) })).text,
      ) as DisruptionDocument;
      return made.steps.length;
    };
    expect(await at('2026-11-22T12:00:00Z')).toBe(0);
    expect(await at('2026-11-22T20:00:00Z')).toBe(2);
  });

  test('a cost of moves that is no number is refused with the field and the fix', async () => {
    const wrong = generous.replace(
      'name: general }',
      'name: general, annotations: { nodewright.dev/move-cost: dear } }',
    );
    await expect(disrupt([wrong])).rejects.toThrow(
      'NodePool general: metadata.annotations[nodewright.dev/move-cost]: "dear" is no share (write a number such as 0.25, or 0 for moves that cost nothing)',
    );
  });
});

test('a breaker and a halted release hold nodes back as they do in production', async () => {
  const nowMs = Date.parse('2026-11-22T12:00:00Z');
  const saying = (annotations: string): string =>
    generous.replace('name: general }', `name: general, annotations: { ${annotations} } }`);
  const failures = ['a=2026-11-22T11:30:00Z', 'b=2026-11-22T11:40:00Z', 'c=2026-11-22T11:50:00Z'].join(',');
  const tripped = saying(`nodewright.dev/disruption-failures: "${failures}"`);
  const kept = async (own: string, more: ReadonlyArray<string> = []) => {
    const { text } = await disrupt([own, ...cluster.slice(1), ...more], { nowMs });
    return (JSON.parse(text) as DisruptionDocument).kept.flatMap(({ node, reason, detail }) =>
      reason === 'pool-braked' ? [[node, detail]] : [],
    );
  };
  const stopped =
    'disruption of NodePool general is suspended until 2026-11-22T12:50:00Z: replacements of 3 steps failed within an hour';
  expect(await kept(tripped)).toEqual(['a', 'c'].map((node) => [node, stopped]));
  expect(await kept(generous)).toEqual([]);

  // What nodes show of a new image counts, though nobody has written it down yet.
  const since = (type: string, reason: string, time: string): string =>
    `{ type: ${type}, status: "True", reason: ${reason}, lastTransitionTime: "${time}" }`;
  const behind = machine('a').replace(
    'conditions: [{ type: Consolidatable',
    `conditions: [${since('Initialized', 'Initialized', '2026-11-20T08:00:00Z')}, ${since('Drifted', 'ImageDrift', '2026-11-22T11:00:00Z')}, { type: Consolidatable`,
  );
  const fresh = machine('d')
    .replace('name: claim-d', 'name: claim-d, creationTimestamp: "2026-11-22T11:10:00Z"')
    .replace(
      'conditions: [{ type: Consolidatable',
      `conditions: [${since('Initialized', 'Initialized', '2026-11-22T11:20:00Z')}, { type: Consolidatable`,
    )
    .replace(
      '{ type: Ready, status: "True" }',
      '{ type: Ready, status: "False", lastTransitionTime: "2026-11-22T11:30:00Z" }',
    );
  const { text } = await disrupt(
    [saying('nodewright.dev/bake-time: 10m'), behind, machine('b'), fresh, pod('one', 'a'), pod('three', 'b')],
    { nowMs },
  );
  const held = (JSON.parse(text) as DisruptionDocument).kept.find(({ node }) => node === 'a');
  expect(held?.detail).toContain(
    'the rollout in NodePool general is halted: 1 of 1 new nodes are not ready, d among them',
  );
});

test('a node that is being removed is told apart from those to keep', async () => {
  const leaving = machine('a').replaceAll('metadata: {', 'metadata: { deletionTimestamp: "2026-11-20T08:00:00Z",');
  const { text } = await disrupt(
    [generous, leaving, machine('b'), pod('one', 'b', '{ karpenter.sh/do-not-disrupt: "true" }')],
    {
      output: 'table',
    },
  );
  expect(text).toContain('a is being removed already. It counts in both sums below.');
  expect(text).toContain('1 node to keep:');
  expect(text).not.toContain('leaving:');
});

test('files without a node are planned, and what is missing is said', async () => {
  expect((await disrupt([generous])).notes).toContain(
    'no Node is given, so that none can go: give what kubectl get prints',
  );
  expect((await disrupt(cluster)).notes.join()).not.toContain('no Node is given');
});
