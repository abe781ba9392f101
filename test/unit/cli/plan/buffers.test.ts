import { readFileSync } from 'node:fs';
import { Errors } from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { planDocument, planManifests, pool, problemsOf, workload } from '../../../kit/cli/plan-manifests.ts';

const template = `
apiVersion: v1
kind: PodTemplate
metadata: { name: room }
template:
  metadata: { labels: { app: web } }
  spec: { containers: [{ name: main, image: x, resources: { requests: { cpu: '1', memory: 1Gi } } }] }
`;

function buffer(spec: string, name = 'spare'): string {
  return `{ apiVersion: autoscaling.x-k8s.io/v1beta1, kind: CapacityBuffer, metadata: { name: ${name} }, spec: ${spec} }`;
}

const ofTemplate = buffer('{ podTemplateRef: { name: room }, replicas: 2 }');
const huge = buffer('{ scalableRef: { kind: Deployment, name: huge }, replicas: 1 }', 'huge');
const node =
  '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { capacity: { cpu: 1, memory: 8Gi, pods: 30 } } }';

describe('the room of buffers in a plan from files', () => {
  test('is told by node, and counts neither as pods placed nor as pods left', async () => {
    const { buffers, nodeClaims, summary, exitCode } = await planDocument([pool, node, template, ofTemplate]);
    expect(buffers).toMatchObject([
      {
        buffer: 'default/spare',
        pods: 2,
        nominations: [{ node: 'n1', pods: 1 }],
        nodeClaims: [{ name: 'general-1', pods: 1 }],
        left: 0,
        reasons: [],
      },
    ]);
    expect([nodeClaims.map(({ pods }) => pods), summary.pods, exitCode]).toEqual([
      [[]],
      { placed: 0, nominated: 0, left: 0 },
      0,
    ]);
  });

  test.each(['Deployment', 'ReplicaSet', 'StatefulSet'])('may be of a %s, whose pods are planned too', async (kind) => {
    const ref = buffer(`{ scalableRef: { apiGroup: apps, kind: ${kind}, name: web }, percentage: 50 }`);
    const { buffers = [], summary } = await planDocument([pool, ref, workload(kind, 'web', 3)]);
    expect([buffers.map(({ pods }) => pods), summary.pods.placed]).toEqual([[2], 3]);
  });

  test('that there is none for is told with the reason, and no pod is left for it', async () => {
    const { buffers = [], exitCode } = await planDocument([
      pool,
      huge,
      workload('Deployment', 'huge', 0, '{ cpu: 9000 }'),
    ]);
    expect(buffers).toMatchObject([{ pods: 1, left: 1, reasons: [{ kind: 'resource', nodePool: 'general' }] }]);
    expect(exitCode).toBe(0);
  });

  test('is no part of a plan without buffers', async () => {
    expect(await planDocument([pool])).not.toHaveProperty('buffers');
  });

  test('obeys the schema of plans', async () => {
    const { text } = await planManifests([
      pool,
      node,
      template,
      ofTemplate,
      huge,
      workload('Deployment', 'huge', 0, '{ cpu: 9000 }'),
    ]);
    const schema = JSON.parse(readFileSync('docs/schema/plan.schema.json', 'utf8')) as object;
    expect(Errors(schema as never, JSON.parse(text))).toEqual([true, []]);
  });

  test('is a table for people', async () => {
    const { text } = await planManifests([pool, node, template, ofTemplate], { output: 'table' });
    expect(text).toMatch(/BUFFER +PODS +ROOM FOR THEM\ndefault\/spare +2 +1 on n1, 1 on general-1\n/);
  });

  test.each([
    ['a template', ofTemplate, 'PodTemplate default/room does not exist: create it'],
    ['a workload', huge, 'Deployment default/huge does not exist: create it'],
    ['any pods', buffer('{ scalableRef: { kind: Deployment, name: web }, percentage: 0 }'), 'come to 0 pods'],
  ])('without %s is said not to be held', async (_, manifest, words) => {
    const { notes, exitCode } = await planDocument([pool, workload('Deployment', 'web', 1), manifest]);
    expect(notes.filter((note) => note.includes('holds no room')).join()).toContain(words);
    expect(exitCode).toBe(0);
  });
});

describe('a wrong buffer or template names its field and the fix', () => {
  test.each([
    [buffer('{ podTemplateRef: { name: room } }'), 'set replicas or limits'],
    [buffer('{ podTemplateRef: { name: room }, replicas: -1 }'), 'spec.replicas'],
    [
      buffer('{ podTemplateRef: { name: room }, scalableRef: { kind: A, name: b }, replicas: 1 }'),
      'remove one of them',
    ],
    [buffer('{ scalableRef: { name: web }, replicas: 1 }'), 'spec.scalableRef.kind'],
    ['{ apiVersion: v1, kind: PodTemplate, metadata: { name: room } }', 'template: is missing'],
    [template.replace("'1'", 'lots'), 'template.spec.containers[0].resources.requests[cpu]'],
  ])('%s', async (manifest, words) => {
    expect((await problemsOf([pool, manifest])).join('\n')).toContain(words);
  });

  test('and a misspelt field of a template is told', async () => {
    const { notes } = await planDocument([pool, template.replace('spec: {', 'spec: { tolerationz: [],'), ofTemplate]);
    expect(notes.join('\n')).toContain('tolerations?');
  });
});
