import { describe } from 'vitest';
import { startDouble } from './cases/api-under-test.ts';
import { applyCases } from './cases/apply-cases.ts';
import { customResourceCases } from './cases/custom-resource-cases.ts';
import { lifecycleCases } from './cases/lifecycle-cases.ts';
import { listWatchCases } from './cases/list-watch-cases.ts';
import { malformedCases } from './cases/malformed-cases.ts';
import { objectCases } from './cases/object-cases.ts';
import { podCases } from './cases/pod-cases.ts';
import { portCases } from './cases/port-cases.ts';
import { portOn } from './port-on.ts';
import { proxyCases } from './cases/proxy-cases.ts';
import { versionCases } from './cases/version-cases.ts';
import { startedApi } from './started-api.ts';

describe('the double of the Kubernetes API server', () => {
  const api = startedApi(startDouble);
  objectCases(api);
  listWatchCases(api);
  podCases(api);
  portCases(() => portOn(api()));
  proxyCases(api);
  versionCases(api);
  malformedCases(api);
  lifecycleCases(api);
  customResourceCases(api);
  applyCases(api);
});
