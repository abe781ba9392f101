import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubeletIdentity } from '../../../../sandbox/azure/state/kubelet-identity.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { nicBody, sshKey } from '../kit/bodies.ts';
import { group, promptly, startWithClients } from '../kit/clients.ts';
import { type Case, type Change, expectRefused, putVm, refuse } from '../kit/refused.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;
const NAME = 'aks-strict';

beforeAll(async () => {
  running = await startWithClients({});
  await running.network.networkInterfaces.createOrUpdate(group, NAME, nicBody(NAME), promptly);
});
afterAll(() => running.azure.close());

const os = 'properties.osProfile';
const linux = `${os}.linuxConfiguration`;
const keys = (change: object): Change => ({ [`${linux}.ssh.publicKeys`]: [{ ...sshKey, ...change }] });
const identities = (...ids: ReadonlyArray<string>): Change => ({
  identity: { type: 'UserAssigned', userAssignedIdentities: Object.fromEntries(ids.map((id) => [id, {}])) },
});
const kubelet = kubeletIdentity(azureDefaults).resourceId;
const rsa1024 = `ssh-rsa ${Buffer.concat([field('ssh-rsa'), field('\u0001\u0000\u0001'), field('\u007f'.repeat(128))]).toString('base64')}`;
function field(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text, 'latin1')]);
}

const logins: ReadonlyArray<Case> = [
  [
    'no SSH key and no password',
    { [`${linux}.ssh`]: undefined },
    refuse(
      400,
      'InvalidParameter',
      /either SSH or by user name and password must be enabled in Linux profile/,
      'linuxConfiguration',
    ),
  ],
  [
    'passwords and no password',
    { [`${linux}.disablePasswordAuthentication`]: false },
    refuse(400, 'InvalidParameter', /'adminPassword' is missing/, 'adminPassword'),
  ],
  [
    'a key that is none',
    keys({ keyData: 'ssh-rsa AAAA' }),
    refuse(400, 'InvalidParameter', /keyData is invalid/, 'linuxConfiguration.ssh.publicKeys.keyData'),
  ],
  ['an RSA key of 1,024 bits', keys({ keyData: rsa1024 }), refuse(400, 'InvalidParameter', /keyData is invalid/)],
  [
    'a key for somebody else',
    keys({ path: '/home/other/.ssh/authorized_keys' }),
    refuse(
      400,
      'InvalidParameter',
      /\/home\/azureuser\/.ssh\/authorized_keys/,
      'linuxConfiguration.ssh.publicKeys.path',
    ),
  ],
  [
    'no administrator',
    { [`${os}.adminUsername`]: undefined },
    refuse(400, 'InvalidParameter', /adminUsername' is missing/),
  ],
  ...['root', 'Admin', 'test1', '-a', 'a b', 'a'.repeat(65)].map((admin): Case => [
    `the administrator ${admin.slice(0, 6)}`,
    { [`${os}.adminUsername`]: admin },
    refuse(400, 'InvalidParameter', /Admin Username specified is not allowed/, 'adminUsername'),
  ]),
  [
    'a computer name of 65 characters',
    { [`${os}.computerName`]: 'n'.repeat(65) },
    refuse(400, 'InvalidParameter', /cannot exceed 64/, 'computerName'),
  ],
  [
    'a computer name with an underscore',
    { [`${os}.computerName`]: 'a_b' },
    refuse(400, 'InvalidParameter', /cannot exceed 64 characters in length or contain/),
  ],
  [
    'custom data that is no base64',
    { [`${os}.customData`]: '#cloud-config' },
    refuse(400, 'InvalidParameter', /must be in Base64/, 'customData'),
  ],
  [
    'custom data with a letter too few',
    { [`${os}.customData`]: 'eA=' },
    refuse(400, 'InvalidParameter', /must be in Base64/, 'customData'),
  ],
  [
    'custom data of 64 KiB',
    { [`${os}.customData`]: Buffer.alloc(65_536).toString('base64') },
    refuse(400, 'InvalidParameter', /87380/, 'customData'),
  ],
  [
    'an identity that there is not',
    identities(kubelet, `${kubelet}-2`),
    refuse(400, 'FailedIdentityOperation', /sandbox-agentpool-2' was not found/),
  ],
  [
    'an identity that is no id',
    identities('agentpool'),
    refuse(400, 'LinkedInvalidPropertyId', /'agentpool' at path 'identity.userAssignedIdentities'/),
  ],
  [
    'identities and none',
    identities(),
    refuse(400, 'MissingIdentityIds', /must not be null or empty for 'UserAssigned'/),
  ],
];

test.for(logins)('a VM with %s is refused', async ([, change, refusal]) => {
  await expectRefused(putVm(running.azure, NAME, change), refusal);
  expect(running.azure.vms()).toEqual([]);
});
