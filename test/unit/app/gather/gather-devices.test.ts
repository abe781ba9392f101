import { describe, expect, test } from 'vitest';
import { createDeviceSelectors } from '../../../../shared/adapters/cel/device-selectors.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { NO_TEMPLATES, type DeviceTemplates } from '../../../../shared/core/model/device-templates.ts';
import { gpus, nodeSlice } from '../../../kit/core/build-devices.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

/**
 * A cluster whose node publishes a device, where devices are planned with; what was asked for and remembered is told.
 */
function withDevices(given: { readonly deviceClass: boolean }) {
  const cluster = smallCluster();
  const { server, ports } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  cluster.addNode('c', {
    labels: {
      'karpenter.sh/nodepool': 'general',
      'node.kubernetes.io/instance-type': 'Standard_D2_v5',
      'karpenter.sh/initialized': 'true',
    },
  });
  if (given.deviceClass) server.create('deviceclasses', { metadata: { name: 'gpu' }, spec: { selectors: [] } });
  server.create('resourceslices', JSON.parse(JSON.stringify(nodeSlice('aks-c', gpus(1)))) as object);
  const asked: Array<string> = [];
  let remembered: DeviceTemplates = NO_TEMPLATES;
  const written: Array<ReadonlyArray<string>> = [];
  const own: Partial<Ports> = {
    deviceSelectors: () => {
      asked.push('selectors');
      return Promise.resolve(createDeviceSelectors());
    },
    deviceMemory: {
      read: () => {
        asked.push('memory');
        return Promise.resolve(remembered);
      },
      write: (templates) => {
        remembered = templates;
        written.push([...templates.keys()]);
        return Promise.resolve();
      },
    },
  };
  return { ...cluster, ports: { ...ports, ...own }, asked, written };
}

describe('what nodes publish', () => {
  test('is remembered when it is new, and not written again while it is the same', async () => {
    const { ports, written } = withDevices({ deviceClass: true });
    await provision(ports);
    await provision(ports);
    expect(written).toEqual([['general']]);
  });

  test('is neither read nor remembered where no claim can be met, as there is no device class', async () => {
    const { ports, written, asked } = withDevices({ deviceClass: false });
    await provision(ports);
    expect([written, asked]).toEqual([[], []]);
  });

  test('is neither read nor remembered where claims are ignored', async () => {
    const { ports, written, asked } = withDevices({ deviceClass: true });
    await provision({ ...ports, deviceSelectors: null });
    expect([written, asked]).toEqual([[], []]);
  });
});
