metadata description = 'A private endpoint of one resource, entered into a private DNS zone.'

@description('Name of the endpoint.')
param name string

@description('Region of the endpoint: that of its subnet.')
param location string

@description('Tags of the endpoint.')
param tags { *: string }

@description('Resource id of the subnet it gets an address of.')
param subnetResourceId string

@description('Resource id of what it leads to.')
param targetResourceId string

@description('Which part of it: blob, namespace.')
param groupId string

@description('Resource id of the private DNS zone of that part.')
param privateDnsZoneResourceId string

resource endpoint 'Microsoft.Network/privateEndpoints@2024-10-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetResourceId
    }
    privateLinkServiceConnections: [
      {
        name: name
        properties: {
          privateLinkServiceId: targetResourceId
          groupIds: [
            groupId
          ]
        }
      }
    ]
  }
}

resource zones 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-10-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: groupId
        properties: {
          privateDnsZoneId: privateDnsZoneResourceId
        }
      }
    ]
  }
}
