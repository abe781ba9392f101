import { describe, expect, test } from 'vitest';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { noteEvictions, tellStorms } from '../../../../shared/app/interruption/note-evictions.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { createRecentReports } from '../../../../shared/app/ports/recent-reports.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { SpotStorm } from '../../../../shared/core/offerings/spot-storms.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { START, since } from '../../../kit/app/small-cluster.ts';
import { at, longNotice, notice, running } from '../../../kit/app/running.ts';

const storm = {
  zone: 'westeurope-1',
  family: 'standardDSv5Family',
  times: 1,
  evicted: 3,
  of: 4,
  untilMs: START + 1_800_000,
};

const told = (server: ReturnType<typeof running>['server']) =>
  server.list('events').filter(({ reason }: Fields) => reason === 'SpotStorm');

/** A look of provisioning after a notice. */
async function looked(
  given: Parameters<typeof running>[0] = {},
  signal = longNotice(),
  prepare: (cluster: ReturnType<typeof running>) => void = () => undefined,
) {
  const cluster = running(given);
  const lines: Array<unknown> = [];
  const log: Ports['log'] = (event, facts) => void lines.push([event, facts]);
  const ports = { ...cluster.ports, log };
  prepare(cluster);
  await interrupt(ports, signal);
  await provision(ports, { mayList: true });
  return { ...cluster, ports, lines };
}

describe('a spot offering that was just taken back', () => {
  test('is avoided for ten minutes from then on, before what replaces it is planned', async () => {
    const { ports, azure, trace, clock } = running();
    let requests = -1;
    const catalogs: Ports['catalogs'] = {
      ...ports.catalogs,
      refuse: (all) => {
        requests = trace.length;
        return ports.catalogs.refuse(all);
      },
    };
    await interrupt(ports, longNotice());
    clock.advance(3_000);
    await provision({ ...ports, catalogs }, { mayList: true });
    expect(azure.refused).toMatchObject([
      {
        scope: 'offering',
        offering: { instanceType: 'Standard_D2_v5', zone: 'westeurope-1', capacityType: 'spot' },
        untilMs: START + 600_000,
        reason: 'SpotEvicted',
      },
    ]);
    expect(requests).toBeLessThan(trace.findIndex((step) => step.startsWith('POST') && step.includes('/nodeclaims')));
  });

  test('is so though its pods had no time and have gone', async () => {
    const { azure } = await looked({ pods: 0 }, notice());
    expect([azure.refused.length, azure.evicted.length]).toEqual([1, 1]);
  });

  test.each([
    ['what goes is no spot capacity', notice({ event: 'terminate' }), { 'karpenter.sh/capacity-type': 'on-demand' }],
    ['its machine is only mended', notice({ event: 'reboot' }), {}],
    ['nobody knows its size', notice(), { 'node.kubernetes.io/instance-type': undefined }],
    ['nobody knows its zone', notice(), { 'topology.kubernetes.io/zone': undefined }],
  ])('is neither avoided nor counted when %s', async (_, signal, labels) => {
    const { azure, stateOf } = await looked({ labels }, signal);
    expect([azure.refused, azure.evicted, stateOf('c')]).toEqual([[], [], 'leaving']);
  });
});

describe('a spot machine that is taken back', () => {
  test('is counted, with the spot machines that there are in its zone', async () => {
    const spotIn = (zone: string, type = 'spot', size = 'Standard_D2_v5') => ({
      labels: {
        'karpenter.sh/capacity-type': type,
        'topology.kubernetes.io/zone': zone,
        'node.kubernetes.io/instance-type': size,
      },
      status: { conditions: [since(START, 'Launched')] },
    });
    const { azure } = await looked({}, longNotice(), ({ addClaim }) => {
      addClaim('planned', { ...spotIn('westeurope-1'), status: {} });
      addClaim('same', spotIn('westeurope-1'));
      addClaim('larger', spotIn('westeurope-1', 'spot', 'Standard_D4_v5'));
      addClaim('elsewhere', spotIn('westeurope-2'));
      addClaim('paid', spotIn('westeurope-1', 'on-demand'));
    });
    expect(azure.evicted).toEqual([
      {
        claim: 'c',
        instanceType: 'Standard_D2_v5',
        zone: 'westeurope-1',
        spotInZone: new Map([
          ['Standard_D2_v5', 2],
          ['Standard_D4_v5', 1],
        ]),
      },
    ]);
  });

  test('is noted once by a process, and by another with the same time', async () => {
    const { ports, azure, clock } = await looked();
    clock.advance(60_000);
    await provision(ports, { mayList: true });
    expect(azure.evicted).toHaveLength(1);
    await provision({ ...ports, told: createRecentReports() }, { mayList: true });
    expect(azure.refused.map(({ untilMs }) => untilMs)).toEqual([START + 600_000, START + 600_000]);
  });

  test('is noted no more where it has been on its way out for ten minutes', async () => {
    const { ports, azure, clock } = running();
    await interrupt(ports, longNotice());
    clock.advance(600_000);
    await noteEvictions(ports, await ports.snapshots.list());
    expect([azure.evicted, azure.refused]).toEqual([[], []]);
  });

  test('tells of the storm on its NodePool and in the log, with its numbers', async () => {
    const { server, lines } = await looked({}, longNotice(), ({ outside }) => {
      outside.storms = [storm, { ...storm, family: null, times: 2, evicted: 5, of: 9 }];
    });
    expect(
      told(server).map(({ message, type, involvedObject }: Fields) => [type, involvedObject.name, message]),
    ).toEqual([
      [
        'Warning',
        'general',
        `Azure evicted 3 of 4 spot VMs of standardDSv5Family in westeurope-1 within ten minutes. Until ${at(START + 1_800_000)} spot of standardDSv5Family in westeurope-1 is a last resort: other families, other zones and on-demand are chosen first`,
      ],
      [
        'Warning',
        'general',
        `Azure evicted 5 of 9 spot VMs in westeurope-1 within ten minutes, storm 2 in a row. Until ${at(START + 1_800_000)} spot in westeurope-1 is a last resort: other families, other zones and on-demand are chosen first`,
      ],
    ]);
    expect(lines).toContainEqual([
      'spot-storm',
      expect.objectContaining({ claim: 'c', nodePool: 'general', ...storm }),
    ]);
  });

  test('tells of a storm that goes on once in half an hour, and of the next at once', async () => {
    const { ports, server, clock } = running();
    const { nodePools, nodeClaims } = await ports.snapshots.list();
    const tell = (one: SpotStorm): Promise<void> => tellStorms(ports, nodeClaims, nodePools, [one]);
    await tell(storm);
    await tell({ ...storm, evicted: 4, untilMs: storm.untilMs + 60_000 });
    expect(told(server)).toHaveLength(1);
    await tell({ ...storm, times: 2 });
    expect(told(server)).toHaveLength(2);
    clock.advance(30 * 60_000);
    await tell(storm);
    expect(told(server)).toHaveLength(3);
  });

  test('tells of it on each NodePool that it hits, and on no other', async () => {
    const { ports, server, addPool, addClaim } = running();
    addPool('second');
    addPool('elsewhere');
    const labels = { 'karpenter.sh/nodepool': 'second', 'topology.kubernetes.io/zone': 'westeurope-1' };
    addClaim('d', { labels });
    addClaim('e', { labels: { 'karpenter.sh/nodepool': 'elsewhere', 'topology.kubernetes.io/zone': 'westeurope-2' } });
    const { nodePools, nodeClaims } = await ports.snapshots.list();
    await tellStorms(ports, nodeClaims, nodePools, [storm]);
    expect(new Set(told(server).map(({ involvedObject }: Fields) => involvedObject.name))).toEqual(
      new Set(['general', 'second']),
    );
  });

  test('is told of in the log alone where its NodePool is gone', async () => {
    const { server, lines } = await looked({ labels: { 'karpenter.sh/nodepool': 'gone' } }, longNotice(), (cluster) => {
      cluster.outside.storms = [storm];
    });
    expect(told(server)).toEqual([]);
    expect(lines).toContainEqual(['spot-storm', expect.objectContaining({ claim: 'c' })]);
  });
});

describe('where it cannot be written what was taken back', () => {
  /** A look whose catalog answers like that, and how often it was asked. */
  async function withCatalog(answer: () => Promise<never>) {
    const cluster = running();
    const lines: Array<unknown> = [];
    let asked = 0;
    const evicted = (): Promise<never> => {
      asked++;
      return answer();
    };
    const ports: Ports = {
      ...cluster.ports,
      log: (event, facts) => void lines.push([event, facts]),
      catalogs: { ...cluster.ports.catalogs, evicted },
    };
    await interrupt(ports, longNotice());
    return { ...cluster, ports, lines, asked: () => asked };
  }

  test('plans go on without, and it is tried again after ten seconds, not by each look', async () => {
    const { ports, others, lines, clock, asked } = await withCatalog(() =>
      Promise.reject(new RetryableError('lost 8 races')),
    );
    expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned' });
    expect([others().length, lines]).toEqual([
      1,
      expect.arrayContaining([['eviction-not-counted', { claims: 'c', why: 'lost 8 races' }]]),
    ]);
    await provision(ports, { mayList: true });
    expect(asked()).toBe(1);
    clock.advance(10_000);
    await provision(ports, { mayList: true });
    expect(asked()).toBe(2);
  });

  test('plans wait two seconds for a write that hangs, and no longer', async () => {
    const { ports, lines } = await withCatalog(() => new Promise<never>(() => undefined));
    const slept: Array<number> = [];
    const sleep = (ms: number): Promise<void> => Promise.resolve(void slept.push(ms));
    expect(await provision({ ...ports, sleep }, { mayList: true })).toMatchObject({ kind: 'provisioned' });
    expect(slept).toEqual([2_000]);
    expect(lines).toContainEqual(['eviction-not-counted', { claims: 'c', why: 'not written within 2000 ms' }]);
  });

  test('a mistake of ours is one', async () => {
    const { ports } = await withCatalog(() => Promise.reject(new Error('a mistake')));
    await expect(provision(ports, { mayList: true })).rejects.toThrow('a mistake');
  });
});
