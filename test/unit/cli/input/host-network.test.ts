import { expect, test } from 'vitest';
import { planDocument, pool, problemsOf } from '../../../kit/cli/plan-manifests.ts';

const pod = (name: string, spec: string): string =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { ${spec} } }`;
const container = (ports: string, more = ''): string =>
  `{ name: main, image: x, ports: [${ports}], resources: { requests: { cpu: 100m, memory: 64Mi } }${more} }`;

async function nodesFor(manifests: ReadonlyArray<string>): Promise<number> {
  const { nodeClaims, left } = await planDocument([pool, ...manifests]);
  expect(left).toEqual([]);
  return nodeClaims.length;
}

test('pods with the network of their host do not share a node where they share a port', async () => {
  const onHost = (name: string) =>
    pod(name, `hostNetwork: true, containers: [${container('{ containerPort: 5473 }')}]`);
  expect(await nodesFor([onHost('a'), onHost('b'), onHost('c')])).toBe(3);
  const alone = (name: string) => pod(name, `containers: [${container('{ containerPort: 5473 }')}]`);
  expect(await nodesFor([alone('a'), alone('b'), alone('c')])).toBe(1);
});

test('ports of their sidecars count as well, and a host port that is given stays', async () => {
  const main = container('{ containerPort: 80, hostPort: 8080 }');
  const beside = container('{ containerPort: 7000 }', ', restartPolicy: Always').replace('main', 'beside');
  const sidecar = pod('a', `hostNetwork: true, initContainers: [${beside}], containers: [${container('')}]`);
  const other = pod('b', `containers: [${container('{ containerPort: 1, hostPort: 7000 }')}]`);
  expect(await nodesFor([sidecar, other])).toBe(2);
  const apart = pod('c', `containers: [${container('{ containerPort: 1, hostPort: 80 }')}]`);
  expect(await nodesFor([pod('d', `containers: [${main}]`), apart])).toBe(1);
});

test('daemons with the network of the host keep pods off their ports', async () => {
  const daemons = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec: { hostNetwork: true, containers: [${container('{ containerPort: 9100 }')}] }
`;
  const taken = pod('a', `containers: [${container('{ containerPort: 1, hostPort: 9100 }')}]`);
  const { left } = await planDocument([pool, daemons, taken]);
  expect(left.map(({ reasons }) => reasons.map(({ kind }) => kind))).toEqual([['resources-together']]);
});

test('minDomains of a spread that is no condition is refused, as by the API server', async () => {
  const spread = (action: string) =>
    pod(
      'a',
      `topologySpreadConstraints: [{ maxSkew: 1, minDomains: 2, topologyKey: zone, whenUnsatisfiable: ${action}, labelSelector: {} }], containers: [${container('')}]`,
    );
  expect(await problemsOf([pool, spread('ScheduleAnyway')])).toEqual([
    'standard input, document 3: Pod default/a: spec.topologySpreadConstraints[0].minDomains: is set, though whenUnsatisfiable is ScheduleAnyway (remove it, or set whenUnsatisfiable to DoNotSchedule)',
  ]);
  await expect(planDocument([pool, spread('DoNotSchedule')])).resolves.toBeDefined();
});
