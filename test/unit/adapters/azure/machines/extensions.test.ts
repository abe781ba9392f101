import type { InstanceViewStatus } from '@azure/arm-compute';
import { describe, expect, test } from 'vitest';
import {
  DIAGNOSIS,
  EXTENSION,
  diagnosisBody,
  extensionBody,
  failedBootOf,
  hasExtension,
} from '../../../../../shared/adapters/azure/machines/extensions.ts';

describe('the bodies of extensions', () => {
  test.for([extensionBody, diagnosisBody])('carry the tags of their VM, and none where it has none (%#)', (bodyOf) => {
    expect(bodyOf({ location: 'westeurope', tags: { team: 'a' } })).toMatchObject({ tags: { team: 'a' } });
    expect(bodyOf({ location: 'westeurope' })).not.toHaveProperty('tags');
  });

  test('follow their publishers’ minor versions', () => {
    expect(extensionBody({ location: 'l' }).autoUpgradeMinorVersion).toBe(true);
    expect(diagnosisBody({ location: 'l' }).autoUpgradeMinorVersion).toBe(true);
  });
});

describe('an extension of a VM', () => {
  test('is known by the end of its id, however it is spelled', () => {
    const id = `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v/extensions/${EXTENSION}`;
    expect(hasExtension({ resources: [{ id: 'other' }, { id }] } as never, EXTENSION)).toBe(true);
    expect(hasExtension({ resources: [{ id: id.toUpperCase() }] } as never, EXTENSION)).toBe(true);
    expect(hasExtension({ resources: [{ id }] } as never, DIAGNOSIS)).toBe(false);
    expect(hasExtension({ resources: [{}] } as never, EXTENSION)).toBe(false);
    expect(hasExtension({}, EXTENSION)).toBe(false);
  });
});

describe('how a set-up ended', () => {
  const found = (name: string, statuses: ReadonlyArray<InstanceViewStatus> | undefined) => {
    const view = statuses === undefined ? { name } : { name, statuses: [...statuses] };
    return failedBootOf({ instanceView: { extensions: [{ name: EXTENSION }, view] } })?.exitCode ?? null;
  };

  test.for<readonly [string, number | null]>([
    ['{"ExitCode":"124","Output":"…"}', 124],
    ['{"ExitCode" : "50"}', 50],
    ['{"ExitCode":  51}', 51],
    ['Enable failed: command terminated with exit status=31', 31],
    ['command failed with exit code: 100', 100],
    ['{"ExitCode":"0"}', null],
    ['Enable succeeded', null],
  ])('is read from %j', ([message, exitCode]) => {
    expect(found(DIAGNOSIS, [{ message }])).toBe(exitCode);
    expect(found(DIAGNOSIS.toUpperCase(), [{}, { message }])).toBe(exitCode);
  });

  test('is not known while nobody has asked or nothing has answered', () => {
    expect(failedBootOf({})).toBeNull();
    expect(found(DIAGNOSIS, undefined)).toBeNull();
    expect(found('another', [{ message: 'exit code 5' }])).toBeNull();
  });
});
