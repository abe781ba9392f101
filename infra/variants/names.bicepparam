// Names of one's own.
using '../main.bicep'

param environmentName = 'production'

param location = 'westeurope'

param clusterResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster'

param nodeSubnetResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_my-group_my-cluster_westeurope/providers/Microsoft.Network/virtualNetworks/aks-vnet-00000000/subnets/aks-subnet'

param resourceNames = {
  functionApp: 'func-mine'
  plan: 'asp-mine'
  functionsIdentity: 'id-mine-functions'
  relayIdentity: 'id-mine-relay'
  serviceBus: 'sbns-mine'
  hostStorage: 'stminehost'
  dataStorage: 'stminedata'
  applicationInsights: 'appi-mine'
  workspace: 'log-mine'
  registry: 'crmine'
  healthTopic: 'egst-mine-health'
  maintenanceTopic: 'egst-mine-maintenance'
  deletionTopic: 'egst-mine-deletions'
}

param scheduledEvents = true
