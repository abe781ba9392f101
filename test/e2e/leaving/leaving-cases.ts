import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { blockCases } from './steps/blocks.ts';
import { type Client, openClient, removeOwn } from './steps/client.ts';
import { consolidationCases } from './steps/consolidation.ts';
import { driftCases } from './steps/drift.ts';
import { emptinessCases } from './steps/emptiness.ts';
import { expirationCases } from './steps/expiration.ts';
import { repairCases } from './steps/repair.ts';
import { restCases } from './steps/rest.ts';
import { staticPoolCases } from './steps/static-pools.ts';
import { terminationCases } from './steps/termination.ts';
import { nodeClass } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import type { Mode } from '../kit/world.ts';

/**
 * Cases by what they are about. They wait more than they compute: on the double each group has a file, and so a
 * cluster, of its own.
 */
const GROUPS = {
  cheaper: ['emptiness', 'consolidation', 'rest'],
  changed: ['drift', 'expiration', 'static pools'],
  held: ['repair', 'termination', 'what keeps a node'],
} as const;

type Group = keyof typeof GROUPS;
type Title = (typeof GROUPS)[Group][number];

const CASES: Readonly<Record<Title, (client: () => Client, mode: Mode) => void>> = {
  emptiness: emptinessCases,
  consolidation: consolidationCases,
  drift: driftCases,
  expiration: expirationCases,
  repair: repairCases,
  'static pools': staticPoolCases,
  termination: terminationCases,
  'what keeps a node': blockCases,
  rest: restCases,
};

/** The second half of a node's life, as somebody sees it who knows a kubeconfig and Karpenter's API. */
export function leavingCases(mode: Mode, groups: ReadonlyArray<Group> = ['cheaper', 'changed', 'held']): void {
  describe(`nodes that go (${mode})`, () => {
    let opened: Client | undefined;
    const client = (): Client => {
      if (opened === undefined) throw new Error('the product has not started');
      return opened;
    };

    beforeAll(async () => {
      opened = await openClient(mode);
      await opened.world.apply(nodeClass);
    });
    afterAll(async () => {
      if (opened === undefined) return;
      try {
        await removeAll(opened.world);
      } finally {
        await opened.close();
      }
    });
    // What a case leaves is removed while the next one runs: names are not used twice.
    afterEach(() => removeOwn(client()));

    for (const title of groups.flatMap((group) => GROUPS[group])) describe(title, () => CASES[title](client, mode));
  });
}
