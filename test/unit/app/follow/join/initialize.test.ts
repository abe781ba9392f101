import { describe, expect, it } from 'vitest';
import { createDeviceSelectors } from '../../../../../shared/adapters/cel/device-selectors.ts';
import { createKubernetes } from '../../../../../shared/adapters/kubernetes/kubernetes.ts';
import { draftOf } from '../../../../../shared/app/claims/draft.ts';
import { initialize } from '../../../../../shared/app/follow/join/initialize.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';
import type { ResourceSlice } from '../../../../../shared/kubernetes/device-manifest.ts';
import type { Node } from '../../../../../shared/kubernetes/manifest.ts';
import { driver, gpus, nodeSlice } from '../../../../kit/core/build-devices.ts';
import { claim, condition } from '../../../../kit/app/build-claim.ts';

const node: Node = { metadata: { name: 'a' }, status: { conditions: [condition('Ready')] } };

/** One look at a registered node, on an API server that has these slices. */
async function look(
  annotations: Readonly<Record<string, string>>,
  slices: ReadonlyArray<ResourceSlice>,
  ignored = false,
) {
  const asked: Array<string> = [];
  const given = claim({ annotations, status: { conditions: [condition('Launched'), condition('Registered')] } });
  const kubernetes = createKubernetes(({ method, path }) => {
    asked.push(`${method} ${path.split('?')[0] ?? ''}`);
    return Promise.resolve({ status: 200, body: path.includes('resourceslices') ? { items: slices } : given });
  });
  const deviceSelectors = ignored ? null : () => Promise.resolve(createDeviceSelectors());
  const ports = { kubernetes, deviceSelectors, now: () => 1_000, log: () => {} } as unknown as Ports;
  return { step: (await initialize(ports, draftOf(given), node)).wait, asked };
}

describe('a node whose pods were planned for devices of its own [J04]', () => {
  const annotations = { 'karpenter.sh/requested-dra-drivers': driver };

  it('is not initialized before their drivers have published them, and is looked at again', async () => {
    const { step } = await look(annotations, []);
    const message = `driver ${driver} has not published its devices of node a yet`;
    expect(step).toEqual({ kind: 'wait', for: message, lookAgainMs: 6_000 });
  });

  it('is initialized once they have', async () => {
    const { step, asked } = await look(annotations, [nodeSlice('a', gpus(1))]);
    expect(step).toBeNull();
    expect(asked).toContain('PATCH /api/v1/nodes/a');
  });

  it('does not wait for them while claims are ignored', async () => {
    expect((await look(annotations, [], true)).step).toBeNull();
  });

  it('costs other nodes no question', async () => {
    expect((await look({}, [])).asked.filter((one) => one.includes('resourceslices'))).toEqual([]);
  });
});
