import { afterAll, beforeAll, describe } from 'vitest';
import { type ApiUnderTest, startReal } from './api-under-test.ts';
import { applyCases } from './apply-cases.ts';
import { customResourceCases } from './custom-resource-cases.ts';
import { listWatchCases } from './list-watch-cases.ts';
import { malformedCases } from './malformed-cases.ts';
import { objectCases } from './object-cases.ts';
import { podCases } from './pod-cases.ts';
import { proxyCases } from './proxy-cases.ts';
import { versionCases } from './version-cases.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

describe.skipIf(assets === '')('the real kube-apiserver (needs KUBEBUILDER_ASSETS)', () => {
  let started: ApiUnderTest | null = null;
  const api = (): ApiUnderTest => {
    if (started === null) throw new Error('not started');
    return started;
  };
  beforeAll(async () => {
    started = await startReal(assets, false);
  });
  afterAll(async () => {
    await started?.close();
  });
  objectCases(api);
  listWatchCases(api);
  podCases(api);
  proxyCases(api);
  versionCases(api);
  malformedCases(api);
  customResourceCases(api);
  applyCases(api);
});
