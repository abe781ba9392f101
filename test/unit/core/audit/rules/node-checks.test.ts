import { describe, expect, test } from 'vitest';
import type { PodShape } from '../../../../../shared/core/model/cluster.ts';
import { auditedDaemons } from '../../../../../shared/core/audit/rules/node-checks.ts';
import { volumeFacts } from '../../../../../shared/core/audit/rules/volume-checks.ts';
import { daemonSet, EMPTY_CLUSTER, input, pods, shape, spec } from '../../../../kit/core/build.ts';

describe('what a DaemonSet requests', () => {
  const madeBy = (name: string, cpu: string, namespace = 'kube-system'): PodShape => ({
    ...shape(spec(cpu, '128Mi'), {}, namespace),
    owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: name },
  });
  const cpuOf = (shapes: ReadonlyArray<PodShape>, all: ReturnType<typeof pods>) =>
    auditedDaemons(input({ daemonSets: [daemonSet('agent', spec('100m', '128Mi'))], shapes, pods: all })).map(
      ({ requests }) => requests.get('cpu'),
    );
  const shapes = [madeBy('agent', '200m'), madeBy('agent', '300m')];

  test('is what its newest pod requests, wherever that stands in the list', () => {
    const older = pods(0, 1, { createdAtMs: 1 });
    const newer = pods(1, 1, { createdAtMs: 2 });
    expect([cpuOf(shapes, [...older, ...newer]), cpuOf(shapes, [...newer, ...older])]).toEqual([[300], [300]]);
  });

  test('is, of pods of one age, what that with the last uid requests', () => {
    // A uid says nothing where one is newer.
    const [early, late] = [pods(0, 1, { createdAtMs: 1, uid: 'z' }), pods(1, 1, { createdAtMs: 2, uid: 'a' })];
    expect([cpuOf(shapes, [...early, ...late]), cpuOf(shapes, [...late, ...early])]).toEqual([[300], [300]]);
    const [one, other] = [pods(0, 1, { uid: 'b' }), pods(1, 1, { uid: 'a' })];
    expect([cpuOf(shapes, [...one, ...other]), cpuOf(shapes, [...other, ...one])]).toEqual([[200], [200]]);
  });

  test('is not what pods of its namesake elsewhere or of another kind of owner request', () => {
    const elsewhere = madeBy('agent', '200m', 'default');
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'agent', uid: 'agent' };
    const replica: PodShape = { ...madeBy('agent', '300m'), owner };
    expect(cpuOf([elsewhere, replica], [...pods(0, 1), ...pods(1, 1)])).toEqual([100]);
  });
});

describe('volumes by their names', () => {
  const claim = (name: string, namespace: string) => ({
    metadata: { name, namespace },
    spec: { volumeName: namespace },
  });
  const marked = (name: string, creationTimestamp: string) => ({
    metadata: { name, creationTimestamp, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: name,
  });

  test('a claim is found in its own namespace and in no other', () => {
    const { claimNamed } = volumeFacts({
      ...EMPTY_CLUSTER,
      persistentVolumeClaims: [claim('data', 'red'), claim('data', 'blue'), claim('logs', 'red')],
    });
    expect(claimNamed('blue', 'data')?.spec?.volumeName).toBe('blue');
    expect(claimNamed('blue', 'logs')).toBeUndefined();
    expect(claimNamed('green', 'data')).toBeUndefined();
  });

  test('without a name the class is the newest of the default ones, of equally new ones the first by name', () => {
    const nameOf = (...storageClasses: ReadonlyArray<ReturnType<typeof marked>>) =>
      volumeFacts({ ...EMPTY_CLUSTER, storageClasses }).classNamed(null)?.metadata.name;
    expect(nameOf(marked('old', '2026-01-01'), marked('new', '2026-02-01'), marked('older', '2025-01-01'))).toBe('new');
    expect(nameOf(marked('b', '2026-01-01'), marked('a', '2026-01-01'))).toBe('a');
    expect(nameOf()).toBeUndefined();
  });

  test('a class that is named is that one, though another is the default, and an empty name is none', () => {
    const { classNamed } = volumeFacts({
      ...EMPTY_CLUSTER,
      storageClasses: [marked('standard', '2026-01-01'), { metadata: { name: 'fast' }, provisioner: 'fast' }],
    });
    expect(classNamed('fast')?.provisioner).toBe('fast');
    expect(classNamed('')).toBeUndefined();
    expect(classNamed(undefined)?.provisioner).toBe('standard');
  });
});
