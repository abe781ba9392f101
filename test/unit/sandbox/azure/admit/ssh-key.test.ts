import { expect, test } from 'vitest';
import { isSshPublicKey } from '../../../../../sandbox/azure/admit/ssh-key.ts';

const field = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

function keyOf(type: string, fields: ReadonlyArray<Buffer>, inside = type): string {
  const bytes = Buffer.concat([field(Buffer.from(inside)), ...fields.map(field)]);
  return `${type} ${bytes.toString('base64')} somebody@somewhere`;
}

const exponent = Buffer.from([1, 0, 1]);
/** A modulus of so many bits, with the zero byte before it that keeps it positive. */
const modulus = (bits: number): Buffer => {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff);
  bytes[0] = 0xff >> (bytes.length * 8 - bits);
  return Buffer.concat([Buffer.from([0]), bytes]);
};

test.for([
  ['RSA of 2,048 bits', keyOf('ssh-rsa', [exponent, modulus(2_048)])],
  ['RSA of 4,096 bits', keyOf('ssh-rsa', [exponent, modulus(4_096)])],
  ['ED25519', keyOf('ssh-ed25519', [Buffer.alloc(32, 7)])],
] as const)('a key of %s is one', ([, key]) => {
  expect(isSshPublicKey(key)).toBe(true);
});

test.for([
  ['nothing', ''],
  ['a type alone', 'ssh-rsa'],
  ['a type and four letters', 'ssh-rsa AAAA'],
  ['what is no base64', 'ssh-rsa ä!'],
  ['RSA of 2,047 bits', keyOf('ssh-rsa', [exponent, modulus(2_047)])],
  ['RSA without an exponent', keyOf('ssh-rsa', [Buffer.alloc(0), modulus(2_048)])],
  ['RSA with a number too many', keyOf('ssh-rsa', [exponent, modulus(2_048), exponent])],
  ['RSA that says it is another', keyOf('ssh-ed25519', [exponent, modulus(2_048)], 'ssh-rsa')],
  ['ED25519 of 31 bytes', keyOf('ssh-ed25519', [Buffer.alloc(31, 7)])],
  ['a curve that Azure does not take', keyOf('ecdsa-sha2-nistp256', [exponent, modulus(2_048)])],
  [
    'a field that is cut off',
    `ssh-rsa ${
      keyOf('ssh-rsa', [exponent, modulus(2_048)])
        .split(' ')[1]
        ?.slice(0, 200) ?? ''
    }`,
  ],
  ['a modulus of nothing', keyOf('ssh-rsa', [exponent, Buffer.alloc(300)])],
] as const)('%s is no key', ([, key]) => {
  expect(isSshPublicKey(key)).toBe(false);
});
