metadata description = 'The right to read when AKS may do maintenance of the cluster: new node images wait for it.'

@description('Name of the cluster, in the resource group that this module is deployed to.')
param clusterName string

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = resourceGroup().id

resource cluster 'Microsoft.ContainerService/managedClusters@2024-10-01' existing = {
  name: clusterName
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-maintenance', suffix)
  properties: {
    roleName: 'Nodewright maintenance ${suffix}'
    description: 'Reads the windows of AKS\'s planned maintenance.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(cluster.id, principalId, role.id)
  scope: cluster
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
