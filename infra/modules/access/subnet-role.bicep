metadata description = 'The right to put nodes into one subnet, where the cluster has a virtual network of your own.'

@description('Name of the virtual network, in the resource group that this module is deployed to.')
param virtualNetworkName string

@description('Name of the subnet.')
param subnetName string

@description('Distinguishes the role\'s name from those of other deployments: names of roles are the tenant\'s.')
param suffix string

@description('Object id of the identity that gets the right.')
param principalId string

var place = resourceGroup().id

resource subnet 'Microsoft.Network/virtualNetworks/subnets@2024-10-01' existing = {
  name: '${virtualNetworkName}/${subnetName}'
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(place, 'nodewright-subnet', suffix)
  properties: {
    roleName: 'Nodewright subnet ${suffix}'
    description: 'Reads a subnet and puts nodes into it.'
    type: 'CustomRole'
    assignableScopes: [
      place
    ]
    permissions: [
      {
        actions: [
          'Microsoft.Network/virtualNetworks/subnets/read'
          'Microsoft.Network/virtualNetworks/subnets/join/action'
        ]
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(subnet.id, principalId, role.id)
  scope: subnet
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: role.id
  }
}
