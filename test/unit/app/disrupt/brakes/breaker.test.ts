import { describe, expect, test } from 'vitest';
import { noteFailure } from '../../../../../shared/app/disrupt/brakes/breaker.ts';
import { disrupt } from '../../../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';
import { consolidated } from '../../../../kit/app/consolidated.ts';
import { denying, START } from '../../../../kit/app/small-cluster.ts';

const NOTE = 'nodewright.dev/disruption-failures';

function logging() {
  const cluster = consolidated();
  const logged: Array<Readonly<Record<string, unknown>>> = [];
  const log: Ports['log'] = (event, facts) => void logged.push({ event, ...facts });
  const ports = { ...cluster.ports, log };
  const noted = (): string | undefined => cluster.server.get('nodepools', 'general')?.metadata.annotations?.[NOTE];
  const health = () => cluster.conditionOf('general', 'DisruptionHealthy', 'nodepools');
  return { ...cluster, ports, logged, noted, health };
}

describe('a step that failed', () => {
  test('is noted on each pool that is there', async () => {
    const { ports, noted, logged } = logging();
    await noteFailure(ports, ['gone', 'general'], 'first');
    expect(noted()).toContain('first');
    expect(logged).toEqual([]);
  });

  test('is noted once', async () => {
    const { ports, noted } = logging();
    await noteFailure(ports, ['general', 'general'], 'first');
    await noteFailure(ports, ['general'], 'first');
    await noteFailure(ports, ['general'], 'second');
    expect(
      noted()
        ?.split(',')
        .map((one) => one.split('@')[0]?.split('=')[0]),
    ).toHaveLength(2);
  });

  test('that another writer’s note is in the way of is lost, and the log says so', async () => {
    const { ports, noted, logged, outside, server } = logging();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/nodepools/general')) {
        server.patch('nodepools', 'general', { metadata: { labels: { other: 'wrote' } } }, 'object');
      }
    };
    await noteFailure(ports, ['general'], 'first');
    expect(noted()).toBeUndefined();
    expect(logged).toEqual([{ event: 'disruption-failure-lost', nodePool: 'general', decision: 'first' }]);
  });
});

describe('the condition of a breaker', () => {
  /** Of four nodes so many are not ready from the start on. */
  async function sick(count: number) {
    const cluster = logging();
    for (const name of ['third', 'fourth']) cluster.addReady(name);
    const ready = (name: string, status: string): void => {
      const lastTransitionTime = new Date(cluster.clock.now()).toISOString();
      const conditions = [{ type: 'Ready', status, lastTransitionTime }];
      cluster.server.patch('nodes', `aks-${name}`, { status: { conditions } }, 'status');
    };
    for (const name of ['spare', 'third', 'fourth'].slice(0, count)) ready(name, 'False');
    await disrupt(cluster.ports);
    const told = () => cluster.logged.filter(({ event }) => String(event).startsWith('breaker'));
    return { ...cluster, ready, told };
  }

  test('says what holds the pool back, for as long as it does', async () => {
    const { health } = await sick(2);
    expect(health()).toMatchObject({
      status: 'False',
      reason: 'BreakerTripped',
      message: expect.stringMatching(/2 of its 4 nodes are not ready.*until this clears$/),
    });
  });

  test('says until when, where that is known', async () => {
    const { ports, health, clock } = logging();
    for (const decision of ['a', 'b', 'c']) await noteFailure(ports, ['general'], decision);
    await disrupt(ports);
    const until = new Date(clock.now() + 3_600_000).toISOString().replace('.000Z', 'Z');
    expect(health()?.['message']).toMatch(new RegExp(`until ${until}$`));
  });

  test('changes its words as what it says changes, and that is no news', async () => {
    const { ports, ready, health, told, events, server, trace } = await sick(2);
    expect(told()).toMatchObject([
      { event: 'breaker-tripped', nodePool: 'general', why: expect.stringContaining('2 of its 4') },
    ]);
    const heard = events().length;
    ready('fourth', 'Unknown');
    await disrupt(ports);
    expect(health()?.['message']).toContain('3 of its 4');
    expect([told().length, events().length]).toEqual([1, heard]);
    trace.length = 0;
    await disrupt(ports);
    expect(trace.filter((step) => step.startsWith('PATCH') && step.includes('/nodepools/'))).toEqual([]);
    for (const name of ['spare', 'third', 'fourth']) ready(name, 'True');
    await disrupt(ports);
    expect(health()).toMatchObject({ status: 'True', message: '' });
    expect(told().map(({ event }) => event)).toEqual(['breaker-tripped', 'breaker-closed']);
    expect(server.get('nodepools', 'general')?.metadata.annotations?.[NOTE]).toBeUndefined();
  });

  /** Two of three nodes are not ready, and nobody has looked yet. */
  function mostlySick() {
    const cluster = logging();
    cluster.addReady('third');
    const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: new Date(START).toISOString() }];
    for (const name of ['spare', 'third']) {
      cluster.server.patch('nodes', `aks-${name}`, { status: { conditions } }, 'status');
    }
    return cluster;
  }

  test('names the generation of the NodePool that it is about', async () => {
    const { ports, server, health } = mostlySick();
    server.patch('nodepools', 'general', { spec: { weight: 7 } }, 'object');
    await disrupt(ports);
    const generation = server.get('nodepools', 'general')?.metadata.generation;
    expect(generation).toBeGreaterThan(1);
    expect(health()).toMatchObject({ status: 'False', observedGeneration: generation });
  });

  test('is put on a NodePool that was deleted and created again meanwhile, and on none that is gone', async () => {
    for (const isBack of [true, false]) {
      const { ports, outside, server, health, logged } = mostlySick();
      outside.onRequest = ({ method, path }) => {
        if (method !== 'GET' || !path.endsWith('/nodepools/general')) return;
        outside.onRequest = () => undefined;
        const { spec } = server.get('nodepools', 'general') ?? {};
        server.remove('nodepools', 'general');
        if (isBack) server.create('nodepools', { metadata: { name: 'general' }, spec });
      };
      expect((await disrupt(ports)).kind).toBe('idle');
      expect([isBack, health()?.['status']]).toEqual([isBack, isBack ? 'False' : undefined]);
      expect(logged.map(({ event }) => event)).toEqual(isBack ? ['breaker-tripped'] : []);
    }
  });

  test('that a policy denies is told, and the nodes stay all the same', async () => {
    const { ports, outside, events, health, logged } = mostlySick();
    outside.deny = denying('PATCH', '/nodepools/general/status');
    expect((await disrupt(ports)).kind).toBe('idle');
    expect(health()).toBeUndefined();
    expect(logged).toContainEqual(
      expect.objectContaining({ event: 'write-denied', kind: 'NodePool', name: 'general' }),
    );
    expect(events().map(([reason]) => reason)).toContain('WriteDenied');
  });
});
