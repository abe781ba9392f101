import { expect, test } from 'vitest';
import { isSshPublicKey } from '../../../../sandbox/azure/admit/ssh-key.ts';
import { kubeletIdentity } from '../../../../sandbox/azure/state/kubelet-identity.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { nodeSettings, orderedIdentities } from '../../../../sandbox/world/node-settings.ts';

test('a node of the sandbox has a key that Azure takes and the identity of its cluster', () => {
  const settings = nodeSettings(azureDefaults);
  expect(isSshPublicKey(settings.SSH_PUBLIC_KEY)).toBe(true);
  expect(settings).toMatchObject({
    NODE_IDENTITIES: kubeletIdentity(azureDefaults).resourceId,
    KUBELET_IDENTITY_CLIENT_ID: kubeletIdentity(azureDefaults).clientId,
  });
});

test.for([
  [{}, []],
  [{ NODE_IDENTITIES: '' }, []],
  [{ NODE_IDENTITIES: '/a,/b' }, ['/a', '/b']],
] as const)('identities that are ordered for nodes exist: %o', ([settings, ids]) => {
  expect(orderedIdentities(settings)).toEqual(ids);
});
