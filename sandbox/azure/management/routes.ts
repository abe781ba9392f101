import type { Route } from '../arm/router.ts';
import { authorizationRoutes } from './authorization.ts';
import { managedClusterRoutes } from './cluster.ts';
import { deploymentRoutes } from './deployments.ts';
import { groupRoutes } from './groups.ts';
import { longOperationRoutes } from './long-operations.ts';
import type { Management } from './management.ts';
import { registryRoutes } from './served/registries.ts';
import { siteRoutes } from './served/sites.ts';
import { subscriptionRoutes } from './subscription.ts';

/** What of Resource Manager people's clients ask for beside machines. */
export function managementRoutes(management: Management): ReadonlyArray<Route> {
  return [
    ...subscriptionRoutes(management),
    ...groupRoutes(management),
    ...authorizationRoutes(management),
    ...managedClusterRoutes(management),
    ...deploymentRoutes(management),
    ...siteRoutes(management),
    ...registryRoutes(management),
    ...longOperationRoutes(management.cloud, management.operations),
  ];
}
