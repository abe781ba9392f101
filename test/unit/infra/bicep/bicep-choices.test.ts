import { describe, expect, test } from 'vitest';
import {
  type BicepFiles,
  type Texts,
  declared,
  parseAll,
  propertiesOf,
  readTexts,
} from '../../../kit/infra/bicep/parse.ts';

const texts = readTexts();
const files = parseAll(texts);

/** A property of a resource's `properties`, or of its body, as it is written. */
function said(of: BicepFiles, path: string, symbol: string, name: string): string {
  const body = propertiesOf(declared(of.get(path), symbol).body);
  const inner = body.get('properties');
  return (body.get(name) ?? (inner === undefined ? undefined : propertiesOf(inner).get(name)))?.text ?? '';
}

/** The texts with one place changed. Throws where that place is not there. */
function changed(path: string, from: string, to: string): Texts {
  const text = texts[path] ?? '';
  if (!text.includes(from)) throw new Error(`${path} does not have ${from}`);
  return { ...texts, [path]: text.replace(from, () => to) };
}

test('alert rules are made although the tables of a workspace that is seconds old are not there yet', () => {
  expect(said(files, 'modules/portal.bicep', 'logAlert', 'skipQueryValidation')).toBe('true');
});

/** Properties that not every cluster has: a plain reading of one fails the deployment. */
const OF_SOME_CLUSTERS = ['apiServerAccessProfile', 'diskEncryptionSetID', 'linuxProfile', 'privateFQDN'];

function plainReadings(given: Texts): ReadonlyArray<string> {
  return Object.entries(given).flatMap(([path, text]) =>
    OF_SOME_CLUSTERS.filter((name) => text.includes(`cluster.properties.${name}`)).map((name) => `${path}: ${name}`),
  );
}

test('what not every cluster has is read with something in its place', () => {
  expect(plainReadings(texts)).toEqual([]);
  const app = 'modules/function-app.bicep';
  expect(plainReadings(changed(app, 'properties.?privateFQDN ??', 'properties.privateFQDN ??'))).toEqual([
    `${app}: privateFQDN`,
  ]);
});

describe('Azure’s own events', () => {
  const main = files.get('main.bicep');

  test('can be left out, with all that they make', () => {
    expect(declared(main, 'signals').condition?.text).toBe('(azureEvents)');
    for (const name of ['HEALTH_TOPIC_ID', 'MAINTENANCE_TOPIC_ID', 'DELETION_TOPIC_ID']) {
      expect(main?.outputs.get(name)?.value.text).toMatch(/^azureEvents .*\? existing\w+ : ''$/);
    }
    const given = propertiesOf(declared(main, 'functionApp').body).get('params');
    expect(given === undefined ? '' : propertiesOf(given).get('scheduledEvents')?.text).toBe(
      'azureEvents && scheduledEvents',
    );
  });

  test('are no condition of anything else', () => {
    const outside = (main?.declarations ?? []).filter(
      ({ symbol, body }) => symbol !== 'signals' && body.text.includes('signals'),
    );
    // The queue is there all the same: the relay sends to it.
    expect(outside.map(({ symbol }) => symbol)).toEqual(['relaySend']);
  });
});

test('zones of private endpoints are known to the networks that are named, beside that of the endpoints', () => {
  const access = files.get('modules/network/private-access.bicep');
  expect(access?.variables.get('linkedNetworks')?.text).toBe('union([endpointNetwork], zoneLinkedNetworkResourceIds)');
  for (const zone of ['blobZone', 'serviceBusZone']) {
    const given = propertiesOf(declared(access, zone).body).get('params');
    expect(given === undefined ? '' : propertiesOf(given).get('virtualNetworkResourceIds')?.text).toBe(
      'linkedNetworks',
    );
  }
  expect(declared(files.get('modules/network/private-dns-zone.bicep'), 'link').isLoop).toBe(true);
});

test('further subnets get the right that the first one has, each in its own group', () => {
  const further = declared(files.get('modules/access/azure-access.bicep'), 'furtherSubnets');
  const scope = propertiesOf(further.body).get('scope')?.text;
  expect([further.target, further.isLoop]).toEqual(['subnet-role.bicep', true]);
  expect(scope).toBe("resourceGroup(split(subnetId, '/')[2], split(subnetId, '/')[4])");
});

test('of functions called over HTTP the group http has an instance waiting, of each other function its own', () => {
  const groups = files.get('modules/function-app.bicep')?.variables.get('readyGroups')?.text ?? '';
  const [, group] = /^\[\s*for functionName in alwaysReadyFunctions: (.+?)\s*\]$/.exec(groups) ?? [];
  expect(group).toBe("contains(httpFunctions, functionName) ? 'http' : 'function:${functionName}'");
});
