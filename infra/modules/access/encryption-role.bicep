metadata description = 'The right to encrypt nodes\' disks by a disk encryption set, where the cluster has one.'

@description('Name of the disk encryption set, in the resource group that this module is deployed to.')
param diskEncryptionSetName string

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = resourceGroup().id

resource diskEncryptionSet 'Microsoft.Compute/diskEncryptionSets@2024-03-02' existing = {
  name: diskEncryptionSetName
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-encryption', suffix)
  properties: {
    roleName: 'Nodewright encryption ${suffix}'
    description: 'Reads a disk encryption set, which making a VM with it takes.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.Compute/diskEncryptionSets/read'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(diskEncryptionSet.id, principalId, role.id)
  scope: diskEncryptionSet
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
