import type { ApiState } from '../state.ts';
import type { OpenWatches } from './open-watches.ts';
import type { ApiRequest } from './api-request.ts';
import type { ResourceRoute } from './route.ts';

/** A resource request with all that its verb needs. */
export interface ResourceCall {
  readonly state: ApiState;
  readonly route: ResourceRoute;
  readonly request: ApiRequest;
  readonly watches: OpenWatches;
}
