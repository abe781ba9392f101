metadata description = 'The right to give nodes the cluster\'s kubelet identity, and no other.'

@description('Name of the kubelet identity, in the resource group that this module is deployed to.')
param identityName string

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = resourceGroup().id

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: identityName
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-identity', suffix)
  properties: {
    roleName: 'Nodewright identity ${suffix}'
    description: 'Gives nodes the identity that their kubelet runs with.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(identity.id, principalId, role.id)
  scope: identity
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
