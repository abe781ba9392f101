import { invalidParameter, requiredParameter } from '../arm/arm-error.ts';
import { listAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { isSshPublicKey } from './ssh-key.ts';

/** Linux takes at most this many characters for a VM's and a computer's name. */
const NAME_LENGTH = 64;

/** Compute's rule for names of resources; that a Linux VM's has fewer characters is Learn's "Naming rules". */
const RESOURCE_NAME = /^[^_\W][\w.-]{0,79}(?<![-.])$/;

/** Azure's own list, with its backslash twice. */
const NOT_IN_HOST_NAMES = /[`~!@#$%^&*()=+_[\]{}\\|;:'",<>/?\s]/;

/** Base64 of 65,535 bytes. */
const CUSTOM_DATA_CHARACTERS = 87_380;

/**
 * Names that no administrator may have: azure-cli's list (src/azure-cli-core, util.py), which follows the service's.
 */
const RESERVED_ADMINS = new Set(
  (
    'administrator admin user user1 test user2 test1 user3 admin1 1 123 a actuser adm admin2 aspnet backup console ' +
    'guest owner root server sql support support_388945a0 sys test2 test3 user4 user5'
  ).split(' '),
);

/**
 * Refuses what a Linux VM cannot be called, how nobody could log in to it, and custom data that is none. Codes and
 * words are as reported in the issues of azure-cli, terraform, acs-engine and ansible.
 */
export function refuseOddOsProfile(vmName: string, body: JsonObject): void {
  refuseOddNames(vmName, textAt(body, 'properties.osProfile.computerName') ?? vmName);
  refuseOddAdmin(body);
  refuseNoLogin(body);
  const data = textAt(body, 'properties.osProfile.customData');
  if (data !== null && (data.length > CUSTOM_DATA_CHARACTERS || !isBase64(data)))
    throw invalidParameter(
      'customData',
      'Custom data in OSProfile must be in Base64 encoding and with a maximum length of ' +
        `${CUSTOM_DATA_CHARACTERS} characters.`,
    );
}

/** Decoded and encoded again it is itself: ten times as quick as a pattern over tens of kilobytes. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

function refuseOddNames(vmName: string, computerName: string): void {
  if (vmName.length > NAME_LENGTH || !RESOURCE_NAME.test(vmName))
    throw invalidParameter(
      'vmName',
      `The entity name 'vmName' is invalid according to its validation rule: ${RESOURCE_NAME.source}.`,
    );
  if (computerName.length > NAME_LENGTH || NOT_IN_HOST_NAMES.test(computerName) || /[-.]$/.test(computerName))
    throw invalidParameter(
      'computerName',
      `Linux host name cannot exceed ${NAME_LENGTH} characters in length or contain the following characters: ` +
        '` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : \' " , < > / ?.',
    );
}

function refuseOddAdmin(body: JsonObject): void {
  const admin = textAt(body, 'properties.osProfile.adminUsername') ?? '';
  if (admin === '') throw requiredParameter('osProfile.adminUsername');
  const isOdd = admin.length > NAME_LENGTH || /["/\\[\]:|<>+=;,?*@#()!\s]|^[$-]|\.$/.test(admin);
  if (isOdd || RESERVED_ADMINS.has(admin.toLowerCase()))
    throw invalidParameter('adminUsername', 'The Admin Username specified is not allowed.');
}

function refuseNoLogin(body: JsonObject): void {
  const path = 'properties.osProfile.linuxConfiguration';
  const keys = listAt(body, `${path}.ssh.publicKeys`);
  if (valueAt(body, `${path}.disablePasswordAuthentication`) === true) {
    if (keys.length === 0)
      throw invalidParameter(
        'linuxConfiguration',
        'Authentication using either SSH or by user name and password must be enabled in Linux profile.',
      );
  } else if (textAt(body, 'properties.osProfile.adminPassword') === null) throw requiredParameter('adminPassword');
  const home = `/home/${textAt(body, 'properties.osProfile.adminUsername') ?? ''}/.ssh/authorized_keys`;
  for (const key of keys) {
    if (textAt(key, 'path') !== home)
      throw invalidParameter(
        'linuxConfiguration.ssh.publicKeys.path',
        `Destination path for SSH public keys is currently limited to its default value ${home} ` +
          'due to a known issue in Linux provisioning agent.',
      );
    if (!isSshPublicKey(textAt(key, 'keyData') ?? ''))
      throw invalidParameter(
        'linuxConfiguration.ssh.publicKeys.keyData',
        'The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.',
      );
  }
}
