targetScope = 'subscription'

metadata description = 'A budget for what the cluster\'s machines cost in Azure\'s own bill, in its currency.'

@description('Name of the budget.')
param name string

@description('The resource group of the machines.')
param nodeResourceGroup string

@description('The cluster\'s name, which its machines carry as a tag.')
param clusterName string

@description('What machines may cost in a month, in the currency of the bill.')
@minValue(1)
param amount int

@description('Resource id of the action group that is notified. Empty: the owners of the subscription get a mail.')
param actionGroupId string

@description('First day of the month that the budget begins with, such as 2027-01-01. Of a new one it is not before the present month; later it must stay.')
@minLength(10)
@maxLength(10)
param startDate string

var contacts = {
  contactEmails: []
  contactRoles: empty(actionGroupId)
    ? [
        'Owner'
      ]
    : []
  contactGroups: empty(actionGroupId)
    ? []
    : [
        actionGroupId
      ]
}

resource budget 'Microsoft.Consumption/budgets@2023-11-01' = {
  name: name
  properties: {
    category: 'Cost'
    amount: amount
    timeGrain: 'Monthly'
    timePeriod: {
      startDate: startDate
    }
    filter: {
      and: [
        {
          dimensions: {
            name: 'ResourceGroupName'
            operator: 'In'
            values: [
              nodeResourceGroup
            ]
          }
        }
        {
          tags: {
            name: 'karpenter.azure.com_cluster'
            operator: 'In'
            values: [
              clusterName
            ]
          }
        }
      ]
    }
    notifications: {
      forecast: union(contacts, {
        enabled: true
        operator: 'GreaterThan'
        threshold: 100
        thresholdType: 'Forecasted'
      })
      actual: union(contacts, {
        enabled: true
        operator: 'GreaterThan'
        threshold: 90
        thresholdType: 'Actual'
      })
    }
  }
}

@description('Resource id of the budget.')
output id string = budget.id
