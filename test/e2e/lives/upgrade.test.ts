import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { buildVersion, earlierVersion } from './earlier-version.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type World, startWorld } from '../kit/world.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const root = resolve(import.meta.dirname, '../../..');
const earlier = earlierVersion();

/** Pods that run at the end. */
const STEADY = 7;
const WITHIN_MS = 120_000;

describe.skipIf(earlier === null)(
  `a cluster under load, from ${earlier} and back (a checkout without history has none)`,
  () => {
    let folder = '';
    let world: World;
    const versionIn = (name: string): string => join(folder, name);

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'nodewright-upgrade-'));
      buildVersion(earlier ?? '', versionIn('earlier'));
      mkdirSync(versionIn('now'));
      for (const path of ['dist', 'host.json', 'package.json'])
        cpSync(join(root, path), join(versionIn('now'), path), { recursive: true });
      lay('earlier');
      world = await startWorld('embedded', { hosts: 'as-on-azure', appFolder: versionIn('app'), lockSeconds: 30 });
    });

    afterAll(async () => {
      await world?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Puts a version where the processes start from: all of it, or the files of those that start next. */
    function lay(name: string, paths = ['dist', 'host.json', 'package.json']): void {
      mkdirSync(versionIn('app'), { recursive: true });
      for (const path of paths) {
        rmSync(join(versionIn('app'), path), { recursive: true, force: true });
        cpSync(join(versionIn(name), path), join(versionIn('app'), path), { recursive: true });
      }
    }

    /**
     * As `nodewright deploy` does it: the relay first, then the app, whose instances end in the middle of what they do.
     * An instance loads parts of its version late, and in Azure has a copy of it: here its files stay until it ends.
     */
    async function replaceBy(name: string): Promise<void> {
      const { relay, hosts } = world.sandbox;
      await relay.kill();
      lay(name, ['dist/relay']);
      await relay.start();
      await Promise.all(hosts.map((host) => host.kill()));
      lay(name, ['dist/functions', 'host.json', 'package.json']);
      await Promise.all(hosts.map((host) => host.start()));
    }

    test(
      'loses no pod and no decision, leaves nothing behind and keeps no message for ever',
      { timeout: 4 * WITHIN_MS },
      async () => {
        const draw = rngFrom('upgrade');
        await world.apply(nodeClass, nodePool('general', { capacityTypes: ['spot', 'on-demand'] }));
        await world.apply(deployment('steady', STEADY), deployment('other', 3, { cpu: '500m', memory: '4Gi' }));
        await expectConsistent(world, { pods: STEADY + 3, withinMs: WITHIN_MS });
        const load = new AbortController();
        const changes = (async () => {
          while (!load.signal.aborted) {
            // One change after the other.
            await world.api.patch(`${DEPLOYMENTS}/steady`, 'merge', { spec: { replicas: 2 + draw.below(12) } });
            await sleep(500 + draw.below(1_500));
          }
        })();
        for (const version of ['now', 'earlier', 'now']) {
          await sleep(4_000);
          await replaceBy(version);
        }
        await sleep(4_000);
        load.abort();
        await changes;
        await world.api.patch(`${DEPLOYMENTS}/steady`, 'merge', { spec: { replicas: STEADY } });
        await expectConsistent(world, { pods: STEADY + 3, mayBeEmpty: true, withinMs: WITHIN_MS });
        expect(world.lines.filter((line) => /unreadable|cannot be read/.test(line))).toEqual([]);
      },
    );
  },
);
