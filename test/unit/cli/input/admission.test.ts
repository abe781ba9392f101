import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../../../cli/input/admit-pods.ts';
import type { CheckedObject } from '../../../../cli/input/check/check-objects.ts';
import type { JsonObject } from '../../../../cli/input/objects.ts';

function object(kind: string, name: string, value: JsonObject, namespace: string | null = null): CheckedObject {
  return { origin: 'test', kind, use: { use: 'admission' }, namespace, name, isLive: false, value };
}

const range = (name: string, limit: JsonObject): CheckedObject =>
  object('LimitRange', name, { spec: { limits: [{ type: 'Container', ...limit }] } }, 'default');

const container = (resources: JsonObject): JsonObject => ({ containers: [{ name: 'main', resources }] });

function admitted(spec: JsonObject, ...objects: ReadonlyArray<CheckedObject>): JsonObject {
  return createAdmission(objects).admit('default', spec);
}

describe('what the API server adds to pods', () => {
  test('a limit stands in for a request that is not there', () => {
    const spec = admitted(container({ limits: { cpu: '2' }, requests: { memory: '1Gi' } }));
    expect(spec['containers']).toMatchObject([{ resources: { requests: { cpu: '2', memory: '1Gi' } } }]);
  });

  test('a limit range fills what a container leaves open, and nothing else', () => {
    const spec = admitted(
      container({ requests: { cpu: '3' } }),
      range('a', { default: { cpu: '1', memory: '2Gi' }, defaultRequest: { memory: '1Gi' } }),
    );
    expect(spec['containers']).toMatchObject([
      { resources: { requests: { cpu: '3', memory: '1Gi' }, limits: { cpu: '1', memory: '2Gi' } } },
    ]);
  });

  test('of two limit ranges the first by name decides', () => {
    const ranges = [range('b', { defaultRequest: { cpu: '2' } }), range('a', { defaultRequest: { cpu: '1' } })];
    expect(admitted(container({}), ...ranges)['containers']).toMatchObject([{ resources: { requests: { cpu: '1' } } }]);
  });

  test('a limit range of another namespace changes nothing', () => {
    const spec = createAdmission([range('a', { defaultRequest: { cpu: '1' } })]).admit('other', container({}));
    expect(spec['containers']).toMatchObject([{ resources: { requests: {} } }]);
  });

  test('a priority class gives its value, the global default where none is named, the system classes theirs', () => {
    const classes = [
      object('PriorityClass', 'high', { value: 1000 }),
      object('PriorityClass', 'usual', { value: 10, globalDefault: true }),
    ];
    expect(admitted({ ...container({}), priorityClassName: 'high' }, ...classes)['priority']).toBe(1000);
    expect(admitted(container({}), ...classes)['priority']).toBe(10);
    expect(admitted(container({}))['priority']).toBe(0);
    expect(admitted({ ...container({}), priorityClassName: 'system-node-critical' })['priority']).toBe(2_000_001_000);
  });

  test('a class that nobody gave is named', () => {
    const admission = createAdmission([]);
    admission.admit('default', { ...container({}), priorityClassName: 'high', runtimeClassName: 'kata' });
    expect(admission.missing()).toEqual(['PriorityClass high', 'RuntimeClass kata']);
  });

  test('a runtime class adds its overhead and its node selector', () => {
    const runtime = object('RuntimeClass', 'kata', {
      overhead: { podFixed: { cpu: '250m' } },
      scheduling: { nodeSelector: { kata: 'yes' } },
    });
    const spec = admitted({ ...container({}), runtimeClassName: 'kata', nodeSelector: { a: 'b' } }, runtime);
    expect(spec).toMatchObject({ overhead: { cpu: '250m' }, nodeSelector: { a: 'b', kata: 'yes' } });
  });
});
