import { readFileSync } from 'node:fs';
import { Errors } from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseUsd } from '../../../../cli/catalog/micro-usd.ts';
import { toOutcome } from '../../../../cli/plan/plan-from-files.ts';
import { schemaFiles } from '../../../../cli/write-schemas.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { planDocument, planManifests, pool, workload } from '../../../kit/cli/plan-manifests.ts';

const schema = JSON.parse(readFileSync('docs/schema/plan.schema.json', 'utf8')) as object;

const node =
  '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { capacity: { cpu: 1, memory: 8Gi, pods: 30 } } }';

/** Some pods on a node that exists, some on new ones, some without a place. */
const everything = [pool, node, workload('Deployment', 'web', 8), workload('Deployment', 'huge', 2, '{ cpu: 9000 }')];

describe('the public form of plans', () => {
  test.each([
    ['nothing', ['{ apiVersion: v1, kind: List, items: [] }']],
    ['a pool', [pool]],
    ['all there can be', everything],
  ])('a plan of %s obeys its schema', async (_, manifests) => {
    const { text } = await planManifests(manifests);
    expect(Errors(schema as never, JSON.parse(text))).toEqual([true, []]);
  });

  test('YAML and JSON say the same', async () => {
    const json = JSON.parse((await planManifests(everything)).text) as {
      readonly summary: { readonly solveMs: number };
    };
    const yaml = parse((await planManifests(everything, { output: 'yaml' })).text) as typeof json;
    expect({ ...yaml, summary: { ...yaml.summary, solveMs: 0 } }).toEqual({
      ...json,
      summary: { ...json.summary, solveMs: 0 },
    });
  });

  test('sums are exact, and the bound never exceeds the cost', async () => {
    const { summary, nodeClaims, nominations, left } = await planDocument(everything);
    const cost = nodeClaims.reduce((sum, { pricePerHour }) => sum + (parseUsd(pricePerHour) ?? 0), 0);
    expect(parseUsd(summary.costPerHour)).toBe(cost);
    expect(parseUsd(summary.lowerBoundPerHour)).toBeLessThanOrEqual(cost);
    expect(summary.gap).toBeCloseTo(cost / (parseUsd(summary.lowerBoundPerHour) ?? 0) - 1, 5);
    const count = (places: ReadonlyArray<{ readonly pods: ReadonlyArray<string> }>): number =>
      places.reduce((sum, { pods }) => sum + pods.length, 0);
    expect(summary.pods).toEqual({ placed: count(nodeClaims), nominated: count(nominations), left: left.length });
    expect(summary.pods).toEqual({ placed: 6, nominated: 2, left: 2 });
  });

  test('names of claims do not clash with claims that exist', async () => {
    const claim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: { name: general-1, labels: { karpenter.sh/nodepool: general } }
spec: { nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }, requirements: [] }
`;
    const { nodeClaims } = await planDocument([pool, claim, workload('Deployment', 'web', 1)]);
    expect(nodeClaims.map(({ name }) => name)).toEqual(['general-2']);
  });

  test('the runner-up says what it would cost more', async () => {
    const { nodeClaims } = await planDocument([pool, workload('Deployment', 'web', 1)]);
    for (const { pricePerHour, runnerUp } of nodeClaims) {
      expect(parseUsd(runnerUp?.pricePerHour ?? '')).toBe(
        (parseUsd(pricePerHour) ?? 0) + (parseUsd(runnerUp?.morePerHour ?? '') ?? 0),
      );
    }
  });

  test('a plan that leaves pods ends with 1, one that leaves none with 0', async () => {
    expect((await planManifests(everything)).exitCode).toBe(1);
    expect((await planManifests(everything.slice(0, 3))).exitCode).toBe(0);
  });

  test('a budget gives a plan that is no worse when it lasts', async () => {
    const plain = await planDocument(everything);
    const patient = await planDocument(everything, { budgetMs: 500 });
    expect(Number(patient.summary.costPerHour)).toBeLessThanOrEqual(Number(plain.summary.costPerHour));
    expect((await planDocument(everything, { budgetMs: 1 })).summary.pods).toEqual(plain.summary.pods);
  });
});

describe('the plan for people', () => {
  test('shows each claim, what goes to nodes that exist, why pods are left, and the sums', async () => {
    const { text } = await planManifests(everything, { output: 'table' });
    expect(text).toMatch(/^NODE +SIZE +ZONE +TYPE +\$\/HOUR +PODS +CPU +MEM$/m);
    expect(text).toMatch(/^general-1 +D\S+ +\d +on-demand +0\.\d+ +\d+ +\d+% +\d+%$/m);
    expect(text).toMatch(/^n1 +2 +default\/web-0, default\/web-1$/m);
    expect(text).toMatch(/^Why nothing cheaper\n {2}D\S+ at \$0\.\d+ for \d+ pods?; next is /m);
    expect(text).toMatch(/^ {4}\d+ offerings of \d+ sizes?, as \S+ at \$0\.\d+: too small: the pods want/m);
    expect(text).toContain('Without a place: 2 pods\n  default/huge-0, default/huge-1\n    NodePool general: ');
    expect(text).toMatch(/To\s+fix\s+it:\s/);
    expect(text).toMatch(/^6 pods on \d+ new nodes?, 2 on 1 existing node, 2 left\.$/m);
    expect(text).toMatch(/^New nodes cost \$\S+ per hour, \$\S+ per month \(730 h\)\.$/m);
    expect(text).toMatch(/^No plan for these pods costs less/m);
    expect(text).toMatch(/^Planned in \S+ ms\. Prices: westeurope, Azure Retail Prices of 2026-08-22/m);
  });

  test('no line is wider than 80 columns, however long the names are', async () => {
    const long = `${'a-name-that-goes-on-'.repeat(4)}end`;
    const manifests = [
      pool.replace('{ name: general }', `{ name: ${long} }`),
      node.replaceAll('n1', `${long}-node`),
      workload('Deployment', long, 8),
      workload('Deployment', 'huge', 2, '{ cpu: 9000 }'),
    ];
    const { text } = await planManifests(manifests, { output: 'table' });
    const wide = text.split('\n').filter((line) => line.length > 80);
    // A single word that is longer than the line has nowhere to break.
    expect(wide.filter((line) => /^ *\S+ +\S/.test(line))).toEqual([]);
    expect(text).toContain('…');
  });

  test('many nodes are told by kind, with how many there are of each', async () => {
    const lonely = workload('Deployment', 'web', 40).replace(
      'containers:',
      `affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: kubernetes.io/hostname, labelSelector: { matchLabels: { app: web } } }] } }, containers:`,
    );
    const { text } = await planManifests([pool, lonely], { output: 'table' });
    expect(text).toMatch(/^NODES +NODEPOOL +SIZE +ZONE +TYPE +\$\/HOUR +PODS +CPU +MEM$/m);
    const rows = [...text.matchAll(/^ *(\d+) +general +D\S+ +\d +on-demand +\d+\.\d+ +(\d+) /gm)];
    expect(rows.reduce((sum, [, nodes]) => sum + Number(nodes), 0)).toBe(40);
    expect(rows.reduce((sum, [, , pods]) => sum + Number(pods), 0)).toBe(40);
  });

  test('names at most three pods of a kind', async () => {
    const { text } = await planManifests(workload('Deployment', 'web', 5), { output: 'table' });
    expect(text).toContain('  default/web-0, default/web-1, default/web-2 and 2 more\n');
  });
});

test.each([...schemaFiles()])('docs/schema/%s is what the formats say', (name, written) => {
  expect(JSON.parse(readFileSync(`docs/schema/${name}`, 'utf8'))).toEqual(JSON.parse(JSON.stringify(written)));
});

test('what takes the place of a plan that breaks a rule of its audit is shown, with the finding, and ends with 3', async () => {
  const plan = {
    claims: [],
    nominations: [],
    left: [],
    buffers: [],
    devices: [],
    cost: microUsdPerHour(0),
    lowerBound: microUsdPerHour(0),
    weighed: { cost: microUsdPerHour(0), lowerBound: microUsdPerHour(0) },
  };
  const finding = { severity: 'fatal', rule: 'limits', text: 'pool x is over its limit', about: [] } as const;
  const refused = {
    findings: Array.from({ length: 7 }, () => finding),
    nodePools: ['x'],
    instead: 'rest',
    rescued: 2,
    leftOut: 1,
  } as const;
  const solved = { plan, input: {}, solveMs: 1, warnings: [], refused } as unknown as Parameters<typeof toOutcome>[0];
  const outcome = await toOutcome(solved, ['a note'], () => Promise.resolve('the rest'));
  expect(outcome).toEqual({
    text: 'the rest',
    notes: ['a note'],
    errors: [
      ...Array.from({ length: 5 }, () => 'internal error: the plan broke the rule limits: pool x is over its limit'),
      'and 2 findings more',
      'what is shown is planned without what that names; 2 pods, of NodePool x placed by first-fit; 1 pod, of NodePool x left out; please report it',
    ],
    exitCode: 3,
  });
});

test('of two NodePools with the same sizes the reasons are told once', async () => {
  const second = pool.replace('name: general', 'name: second').split('---')[0] ?? '';
  const { text } = await planManifests([pool, second, workload('Deployment', 'web', 8, '{ cpu: 1, memory: 1Gi }')], {
    output: 'table',
  });
  const reasons =
    text.replaceAll(/\n {4,}/g, ' ').match(/offerings of \d+ sizes, as [^\n]*?too small: the pods want [\d.]+ cpu/g) ??
    [];
  expect(reasons.length).toBeGreaterThan(0);
  expect(new Set(reasons).size).toBe(reasons.length);
});
