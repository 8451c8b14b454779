// The source texts of the rights of API keys.

export const EN_KEYS = {
  keyPresets: 'Start with',
  keyPreset_read: 'Read only',
  keyPreset_pay: 'Take payments',
  keyCreatedTitle: 'Keys created with this key',
  keyCreatedCount: 'Keys created with this one that still work: {count, number}',
  keyCreatedHint:
    'If the key was stolen, the thief may have made them. Servers that use them lose their access when they are revoked.',
  keyCreatedToo: 'Revoke these keys too',
  keySuccessors:
    'Keys that have replaced a key, or were created with one that has: {count, number}. Servers may use them now, so they are not revoked with the others. If you did not replace the key, open and revoke each.',
  keyRevokeCreatedTitle: 'Revoke the keys created with this key',
  keyRevokeCreated: 'Revoke these keys',
  done_revokedCreated: 'The keys were revoked.',
  keyNotInRole: 'not in your role',
  keyScopesTest:
    'In test mode no real money moves, so your keys may have every right. To write an area includes to read it.',
  keyScopesAsk:
    'Your role does not include every right. If the key needs more, such as to take payments, ask an owner or an admin to create it.',
  keyScopesDocs: 'What each right allows',
  keyEverything: 'everything',
  keyCannotReplace:
    'Your role cannot replace this key, because the key has rights that you do not have. Ask an owner or an admin.',
  scope_checkout_read: 'Reads payments and their checkout pages.',
  scope_checkout_write: 'Starts and cancels payments.',
  scope_charges_read: 'Reads charges of saved payment methods.',
  scope_charges_write: 'Charges saved payment methods.',
  scope_customers_read: 'Reads customers and their saved payment methods.',
  scope_customers_write: 'Creates, changes and blocks customers.',
  scope_wallet_read: 'Reads the balance and the movements of the wallet.',
  scope_refunds_read: 'Reads refunds.',
  scope_refunds_write: 'Refunds payments.',
  scope_links_read: 'Reads payment links.',
  scope_links_write: 'Creates, changes and deactivates payment links.',
  scope_p2p_read: 'Reads direct transfers and the accounts that receive them.',
  scope_p2p_write: 'Manages direct transfers, and confirms or rejects them.',
  scope_webhooks_read: 'Reads events, webhook endpoints and deliveries.',
  scope_webhooks_write: 'Manages webhook endpoints, and sends events again.',
  scope_keys_read: 'Lists API keys, never their secrets.',
  scope_keys_write: 'Creates, replaces and revokes API keys.',
  scope_audit_read: 'Reads the audit log.',
  scope_reports_read: 'Reads reports of what was collected.',
  scope_cases_read: 'Reads cases that wait for a decision.',
  scope_cases_write: 'Resolves cases.',
} as const
