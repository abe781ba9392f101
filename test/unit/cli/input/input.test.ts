import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool, problemsOf, workload } from '../../../kit/cli/plan-manifests.ts';

const pod = (name: string, spec = '', metadata = ''): string =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}${metadata} }, spec: { ${spec} containers: [{ name: main, resources: { requests: { cpu: 500m, memory: 1Gi } } }] } }`;

const node = (name: string, cpu: number): string =>
  `{ apiVersion: v1, kind: Node, metadata: { name: ${name} }, status: { capacity: { cpu: ${cpu}, memory: 8Gi, pods: 30 } } }`;

describe('manifests that are read', () => {
  test('documents, lists, typed lists and JSON say the same', async () => {
    const yaml = await planDocument([pool, pod('a'), pod('b')]);
    const list = `{ apiVersion: v1, kind: List, items: [${pod('a')}, ${pod('b')}] }`;
    const bare =
      '{ metadata: { name: a }, spec: { containers: [{ resources: { requests: { cpu: 500m, memory: 1Gi } } }] } }';
    const typed = `{ apiVersion: v1, kind: PodList, items: [${bare}, ${bare.replace('name: a', 'name: b')}] }`;
    for (const manifests of [
      [pool, list],
      [pool, typed],
    ]) {
      const plan = await planDocument(manifests);
      expect(plan.nodeClaims).toEqual(yaml.nodeClaims);
    }
    const { notes: _, ...json } = await planDocument(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
    expect(json.summary.pods).toEqual({ placed: 0, nominated: 0, left: 0 });
  });

  test('a list without items, as kubectl writes it, is empty', async () => {
    expect((await planDocument('{"apiVersion":"v1","kind":"PodList","items":null}')).exitCode).toBe(0);
  });

  test('the order of documents changes nothing', async () => {
    const parts = [pool, pod('a'), pod('b'), workload('Deployment', 'web', 5), node('n1', 2)];
    const { summary: one, ...forth } = await planDocument(parts);
    const { summary: other, ...back } = await planDocument(parts.toReversed());
    expect(back).toEqual(forth);
    expect(other.costPerHour).toBe(one.costPerHour);
  });

  test('a pod with a node runs there, one without waits, and free capacity is used first', async () => {
    const plan = await planDocument([
      pool,
      node('n1', 1),
      pod('runs', 'nodeName: n1,'),
      pod('waits'),
      pod('waits-too'),
    ]);
    expect(plan.nominations).toEqual([{ node: 'n1', pods: ['default/waits'] }]);
    expect(plan.nodeClaims.flatMap(({ pods }) => pods)).toEqual(['default/waits-too']);
    expect(plan.summary.pods).toEqual({ placed: 1, nominated: 1, left: 0 });
  });

  test('a pod that runs without a node, as the relay of the sandbox does, waits for none', async () => {
    const runs = `${pod('relay').slice(0, -1)}, status: { phase: Running } }`;
    const waits = `${pod('waits').slice(0, -1)}, status: { phase: Pending } }`;
    expect(placedPods(await planDocument([pool, runs, waits]))).toEqual(['default/waits']);
  });

  test('pods that have ended, are being deleted, or are gated are not planned for', async () => {
    const ended = `${pod('done').slice(0, -1)}, status: { phase: Succeeded } }`;
    const deleted = pod('going', '', ', deletionTimestamp: "2026-01-01T00:00:00Z"');
    const plan = await planDocument([pool, ended, deleted, pod('gated', 'schedulingGates: [{ name: wait }],')]);
    expect([...placedPods(plan), ...plan.left]).toEqual([]);
    expect(plan.notes).toContain('1 pod with scheduling gates: nothing is planned for them');
  });

  test('a pool counts as ready whatever its status says, and a class that is not given as one with defaults', async () => {
    const notReady = `${pool.split('---')[0]}status: { conditions: [{ type: Ready, status: "False", reason: X, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }] }`;
    const plan = await planDocument([notReady, pod('a')]);
    expect(placedPods(plan)).toEqual(['default/a']);
    expect(plan.notes).toContain('AKSNodeClass default is not given: one with default settings is assumed');
  });

  test('a kind that no plan depends on is named once, with its number', async () => {
    const service = (name: string): string => `{ apiVersion: v1, kind: Service, metadata: { name: ${name} } }`;
    const strange = '{ apiVersion: __proto__, kind: constructor, metadata: { name: x } }';
    const { notes } = await planDocument([pool, service('a'), service('b'), strange]);
    expect(notes).toContain('ignored, as no plan depends on it: 2 Service, 1 constructor');
  });

  test('pods with resource claims are planned with the devices that are given', async () => {
    const claim = `{ apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: { name: gpu },
      spec: { devices: { requests: [{ name: one, exactly: { deviceClassName: gpu } }] } } }`;
    const deviceClass = `{ apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: { name: gpu },
      spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] } }`;
    const slice = `{ apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: { name: slice },
      spec: { driver: gpu.example.com, allNodes: true, devices: [{ name: gpu-0 }],
        pool: { name: network, generation: 1, resourceSliceCount: 1 } } }`;
    const using = pod('a', 'resourceClaims: [{ name: gpu, resourceClaimName: gpu }],');
    const plan = await planDocument([pool, claim, deviceClass, slice, using]);
    expect(placedPods(plan)).toEqual(['default/a']);
    const without = await planDocument([pool, claim, deviceClass, using]);
    expect(without.left).toMatchObject([{ pod: 'default/a', reasons: [{ kind: 'devices-short', matching: 0 }] }]);
    expect(without.exitCode).toBe(1);
  });

  test('a slice of devices that the API server would refuse is refused, with the place', async () => {
    const slice = `{ apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: { name: slice },
      spec: { driver: gpu.example.com, pool: { name: network, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: gpu-0, capacity: { memory: { value: lots } } }] } }`;
    await expect(planDocument([pool, slice])).rejects.toThrow(/devices\[0\]\.capacity/);
  });

  test('a kind of somebody else may have the name of one of ours', async () => {
    const job = '{ apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: { name: a }, spec: {} }';
    const service = '{ apiVersion: serving.knative.dev/v1, kind: Service, metadata: { name: a }, spec: {} }';
    const { exitCode, notes } = await planDocument([pool, job, service]);
    expect({ exitCode, notes }).toEqual({
      exitCode: 0,
      notes: [
        'the pods that these make are not planned: 1 Service (serving.knative.dev)',
        'of kinds that are not known: they may make pods, which are not planned: 1 Job (batch.volcano.sh)',
      ],
    });
  });

  test('pods on nodes that are not given are told with the nodes', async () => {
    const { notes } = await planDocument([pool, pod('a', 'nodeName: n1,'), pod('b', 'nodeName: n2,')]);
    expect(notes).toContain(
      '2 pods run on nodes that are not given (n1, n2): give the nodes too, or their free room is not used',
    );
  });

  test('of two objects of one name the later counts, which is said unless they are equal', async () => {
    const twice = await planDocument([pool, workload('Deployment', 'web', 1), workload('Deployment', 'web', 2)]);
    expect(placedPods(twice)).toEqual(['default/web-0', 'default/web-1']);
    expect(twice.notes).toContain(
      'Deployment default/web is given twice (standard input, document 3; standard input, document 4): the later counts',
    );
    expect((await planDocument([pool, pod('a'), pod('a')])).notes).toEqual([]);
  });

  test('pods that ask for nothing are counted aloud', async () => {
    const { notes } = await planDocument([
      pool,
      '{ apiVersion: v1, kind: Pod, metadata: { name: a }, spec: { containers: [{ name: x }] } }',
    ]);
    expect(notes).toContain('1 pod without requests for CPU and memory: counted as taking none');
  });

  test('without a pool every pod is left and told why', async () => {
    const plan = await planDocument(pod('a'));
    expect(plan.left).toEqual([
      {
        pod: 'default/a',
        reasons: [{ nodePool: null, kind: 'no-node-pool', detail: 'there is no NodePool', fix: 'create a NodePool' }],
      },
    ]);
    expect(plan.exitCode).toBe(1);
  });
});

describe('wrong input names its place, its field and the fix', () => {
  test.each([
    [
      'a label that is no text',
      pod('a', '', ', labels: { x: 1 }'),
      'standard input: Pod default/a: metadata.labels[x]: is of type number (write a string, in quotes where it looks like something else)',
    ],
    [
      'a quantity that is none',
      pod('a').replace('500m', 'lots'),
      'standard input: Pod default/a: spec.containers[0].resources.requests[cpu]: "lots" is not a quantity (write a quantity such as 100m, 4, 1.5 or 16Gi)',
    ],
    [
      'a node selector that would be lost',
      pod('a', 'nodeSelector: { gpu: true },'),
      'standard input: Pod default/a: spec.nodeSelector[gpu]: is of type boolean (write a string, in quotes where it looks like something else)',
    ],
    [
      'an operator that does not exist',
      pod(
        'a',
        'affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: x, operator: Is }] }] } } },',
      ),
      'standard input: Pod default/a: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: "Is" is not a choice here (did you mean In? use one of In, NotIn, Exists, DoesNotExist, Gt, Lt)',
    ],
    [
      'an API version of the past',
      workload('Deployment', 'web', 1).replace('apps/v1', 'extensions/v1beta1'),
      'standard input: Deployment default/web: apiVersion: extensions/v1beta1 is not served (write apps/v1)',
    ],
    [
      'a selector that misses its pods',
      workload('Deployment', 'web', 1).replace('labels: { app: web }', 'labels: { app: other }'),
      'standard input: Deployment default/web: spec.selector.matchLabels[app]: does not select the pods of the template (give the template the label, or correct the selector)',
    ],
    [
      'a number without end',
      workload('Deployment', 'web', 300_000),
      'standard input: Deployment default/web: implies more than 200000 pods together with those before it (lower its replicas)',
    ],
    [
      'a node without capacity',
      '{ apiVersion: v1, kind: Node, metadata: { name: n }, status: {} }',
      'standard input: Node n: status.allocatable: is missing (say what the node has for pods: cpu, memory, pods)',
    ],
    [
      'a template that was not rendered',
      '{{- if .Values.pod }}\nkind: Pod\n{{- end }}',
      'standard input: is not YAML: Block collections are not allowed within flow collections at line 1, column 3 (it holds {{ }}: render the template first, as with helm template)',
    ],
    [
      'a workload without a selector',
      workload('Deployment', 'web', 1).replace('selector: { matchLabels: { app: web } }', 'paused: false'),
      'standard input: Deployment default/web: spec.selector: is missing (set it)',
    ],
    [
      'a version of ours that is past',
      pool.replace('karpenter.sh/v1', 'karpenter.sh/v1beta1'),
      'standard input, document 1: NodePool general: apiVersion: NodePool of karpenter.sh/v1beta1 is no longer read (write a NodePool of karpenter.sh/v1, with a nodeClassRef to an AKSNodeClass of karpenter.azure.com/v1beta1)',
    ],
    [
      'a kind that was misspelt',
      workload('Deployement', 'web', 1),
      'standard input: Deployement: kind: "Deployement" is not a kind of apps/v1 (write Deployment)',
    ],
    [
      'a group that was misspelt',
      workload('Deployment', 'web', 1).replace('apps/v1', 'app/v1'),
      'standard input: Deployment: apiVersion: app/v1 has no such kind (write apps/v1)',
    ],
    [
      'a workload of the core group',
      workload('Deployment', 'web', 1).replace('apps/v1', 'v1'),
      'standard input: Deployment: apiVersion: v1 has no such kind (write apps/v1)',
    ],
    [
      'a kind of ours that was misspelt',
      pool.replace('kind: NodePool', 'kind: Nodepools'),
      'standard input, document 1: Nodepools: kind: "Nodepools" is not a kind of karpenter.sh/v1 (write NodePool)',
    ],
    [
      'nothing',
      '',
      'standard input: holds no object (give manifests, or see whether the command that should write them has failed)',
    ],
    [
      'nothing but comments',
      '# to do\n---\n',
      'standard input: holds no object (give manifests, or see whether the command that should write them has failed)',
    ],
    [
      'a thing without a kind',
      'just: text',
      'standard input: is not a Kubernetes object (give it apiVersion and kind)',
    ],
    [
      'a catalog among the manifests',
      '{ apiVersion: nodewright.dev/v1alpha1, kind: Catalog }',
      'standard input: is a catalog, not a part of the cluster (give it with --catalog)',
    ],
    [
      'JSON that is cut',
      '{"apiVersion": "v1", "kind"',
      "standard input: is not JSON: Expected ':' after property name in JSON at position 27 (line 1 column 28) (correct it there)",
    ],
  ])('%s', async (_, manifest, problem) => {
    expect(await problemsOf(manifest)).toContain(problem);
  });

  test('a pool is judged as the API server and Karpenter judge it', async () => {
    const problems = await problemsOf(pool.replace('operator: In, values: [D]', 'operator: In, values: []'));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(
      /^standard input, document 1: NodePool general: spec\.template\.spec\.requirements.*\(.+\)$/,
    );
  });

  test('all that is wrong is told at once, by document', async () => {
    const problems = await problemsOf([pod('a', 'tolerations: x,'), pool, '7', pod('b', '', ', labels: []')]);
    expect(problems.map((line) => line.split(': ')[0])).toEqual([
      'standard input, document 4',
      'standard input, document 1',
      'standard input, document 5',
    ]);
  });
});
