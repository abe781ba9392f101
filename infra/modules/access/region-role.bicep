targetScope = 'subscription'

metadata description = 'The right to read what belongs to no resource group: sizes, quota, node images, eviction rates.'

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = subscription().id

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-region', suffix)
  properties: {
    roleName: 'Nodewright region ${suffix}'
    description: 'Reads which VM sizes and node images there are, what quota is left, and how often spot VMs are evicted.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.Compute/skus/read'
          'Microsoft.Compute/locations/usages/read'
          'Microsoft.Compute/locations/communityGalleries/images/versions/read'
          'Microsoft.ResourceGraph/resources/read'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(place, principalId, role.id)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
