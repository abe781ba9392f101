import { expect, test } from 'vitest';
import { isPublicKey, makePublicKey } from '../../../infra/hooks/make-ssh-key.ts';

/** The fields of a key in SSH's own form: each is its length in four bytes, and then itself. */
function fieldsOf(key: string): ReadonlyArray<Buffer> {
  let rest = Buffer.from(key.split(' ')[1] ?? '', 'base64');
  const fields: Array<Buffer> = [];
  while (rest.length > 0) {
    const end = 4 + rest.readUInt32BE(0);
    fields.push(rest.subarray(4, end));
    rest = rest.subarray(end);
  }
  return fields;
}

test('a key that is made is what Azure takes: RSA, of 3072 bits, a positive number', () => {
  const key = makePublicKey();
  expect(isPublicKey(key)).toBe(true);
  const [kind, exponent, modulus] = fieldsOf(key);
  expect(kind?.toString()).toBe('ssh-rsa');
  expect(exponent?.toString('hex')).toBe('010001');
  // The first bit of a modulus of so many bits is set, so that a zero has to stand before it.
  expect(modulus).toHaveLength(1 + 3072 / 8);
  expect(modulus?.[0]).toBe(0);
});

test('no two keys are alike, and nothing of the private half is in one', () => {
  const [one, other] = [makePublicKey(), makePublicKey()];
  expect(one).not.toBe(other);
  expect(fieldsOf(one)).toHaveLength(3);
});

test.for([
  ['ssh-ed25519 AAAAC3Nz you@host', true],
  ['ssh-rsa AAAAB3Nz', true],
  ['-----BEGIN OPENSSH PRIVATE KEY-----', false],
  ['AAAAB3Nz', false],
  ['ssh-rsa AAAAB3Nz\nssh-rsa AAAAB3Nz', false],
] as const)('%s: is a public key, or not', ([text, is]) => {
  expect(isPublicKey(text)).toBe(is);
});
