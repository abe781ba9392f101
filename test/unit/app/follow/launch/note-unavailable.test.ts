import { describe, expect, test } from 'vitest';
import { noteUnavailable } from '../../../../../shared/app/follow/launch/note-unavailable.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { decisionOf, smallCluster } from '../../../../kit/app/small-cluster.ts';

/** Why a replacement did not come stands on the NodeClaim that it was to replace. */

const NOTE = 'nodewright.dev/replacement-unavailable';

/** Claim `old` is to be replaced by `new` and `newer`, as a decision says; `known` is noted on it. */
async function replacing({ known, named = ['new', 'newer'] }: { known?: string; named?: ReadonlyArray<string> } = {}) {
  const cluster = smallCluster();
  const { server, ports } = cluster;
  cluster.addClaim('old', { annotations: known === undefined ? {} : { [NOTE]: known } });
  const uid = server.get('nodeclaims', 'old')?.metadata.uid ?? '';
  const removal = { step: {}, claims: [{ name: 'old', uid, node: 'aks-old' }] };
  const decision = { ...decisionOf(named), removal } as never as ReturnType<typeof decisionOf>;
  await ports.decisions.put(decision);
  for (const name of ['new', 'newer']) {
    cluster.addClaim(name, {
      annotations: { 'nodewright.dev/decision': decision.name, 'nodewright.dev/created-for': 'Drifted' },
    });
  }
  const refused = (name: string): Promise<void> => noteUnavailable(ports, server.get('nodeclaims', name) as never);
  const noted = (): unknown => server.get('nodeclaims', 'old')?.metadata.annotations?.[NOTE];
  return { ...cluster, refused, noted };
}

describe('a replacement that Azure has no capacity for', () => {
  test('is noted on what it was to replace, once, and beside others of its decision', async () => {
    const { refused, noted } = await replacing();
    for (const name of ['new', 'newer', 'new']) await refused(name);
    expect(noted()).toBe('new,newer');
  });

  test('takes the place of what is noted of an earlier decision, which says nothing any more', async () => {
    const { refused, noted } = await replacing({ known: 'earlier' });
    await refused('new');
    expect(noted()).toBe('new');
  });

  test('is noted nowhere where its decision does not name it, whatever it says of itself', async () => {
    const { refused, noted } = await replacing({ named: ['newer'] });
    await refused('new');
    expect(noted()).toBeUndefined();
  });

  test('is noted on no other NodeClaim that has got the name, and that there is none is no error', async () => {
    const { refused, noted, server, addClaim } = await replacing();
    server.patch('nodeclaims', 'old', { metadata: { finalizers: [] } }, 'object');
    server.remove('nodeclaims', 'old');
    await refused('new');
    addClaim('old');
    await refused('new');
    expect(noted()).toBeUndefined();
  });
});

test('a claim that replaces nothing asks for no decision: thousands may be refused at once', async () => {
  const { ports, addClaim, server } = await replacing();
  addClaim('other', { annotations: { 'nodewright.dev/decision': '000000001-d' } });
  const get = (): Promise<never> => Promise.reject(new RetryableError('nobody asks'));
  const asking = { ...ports, decisions: { ...ports.decisions, get } };
  await expect(noteUnavailable(asking, server.get('nodeclaims', 'other') as never)).resolves.toBeUndefined();
});

test('a claim whose decision removes nothing, whatever it says of itself, is noted nowhere', async () => {
  const { ports, server } = await replacing();
  await ports.decisions.put({ ...decisionOf(['new']), name: '000000002-d' });
  server.patch(
    'nodeclaims',
    'new',
    { metadata: { annotations: { 'nodewright.dev/decision': '000000002-d' } } },
    'object',
  );
  await noteUnavailable(ports, server.get('nodeclaims', 'new') as never);
  expect(server.get('nodeclaims', 'old')?.metadata.annotations?.[NOTE]).toBeUndefined();
});
