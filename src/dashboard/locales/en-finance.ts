// The source texts of reconciliation, of the deadlines of disputes, of the figures of home, and of what finance exports.

export const EN_FINANCE = {
  // The figures of home
  todayTitle: 'Today and a week ago',
  todayNone: 'No payments in the last 30 days.',
  collectedToday: 'Collected today',
  collectedBefore: 'A week ago until {time}',
  paidOf: 'Paid of those decided today',
  wholeDay: 'Whole day:',
  todayNote: 'Decided: paid, failed, expired or abandoned. Payments that are still open are not counted.',

  // The times of payments
  createdFrom: 'Created from',
  createdTo: 'Created to',
  paidFrom: 'Paid from',
  paidTo: 'Paid to',

  // Disputes
  respondBy: 'Respond by',
  respondByPassed: 'The deadline has passed',
  attentionPassed: 'A deadline has passed.',
  respondByUnknown: 'Ask the provider',
  disputeClaimed: 'Claimed',
  disputeHeld: 'Held or lost',

  // Files of a month
  monthTitle: 'Monthly export',
  monthText: 'The whole month in your time zone, as CSV for a spreadsheet or your accountant.',
  monthUnknown: 'There is no file of this month or with this name. Choose a month and a file.',
  month: 'Month',
  monthPayments: 'Paid payments',
  monthRefunds: 'Refunds',
  monthStatement: 'Wallet statement',

  // The wallet
  whyBalance: 'Why this balance, {currency}',
  walletOwnAccounts:
    'Money that payers send straight to your own accounts is in the reports, and not in these balances.',
  whyBalanceText:
    'A payment is pending first, less the fee, and available after its settlement. Each line of the statement shows what it added and both balances after it, so the newest line has the balance at the end. Choose days to see one period.',
  balanceWhen: 'Balance',
  balanceBefore: 'At the beginning',
  balanceAfter: 'At the end',
  grossPayments: 'Payments, before fees',
  changeLines: 'Lines',
  changeText: 'The sums of the lines between add up to the difference of the balances.',
  changeTooLong:
    'There are {lines} lines between, more than can be added here at once ({most}). Choose fewer days to see their sums.',
  paymentId: 'UUID of a payment',
  inStatement: 'Show these lines in the statement',

  // Reconciliation
  settlementFiles: 'Settlement files',
  fileUpload: 'Upload a file',
  fileUploadTitle: 'Upload a settlement file',
  fileUploadText:
    'The provider lists in it what it has settled. What agrees with our records becomes available in the wallet at once; each difference is listed until it is explained.',
  fileOwnAccountsOnly:
    'Files are compared for accounts of your own at a provider, and you have none. The operator of this service compares the files of its accounts.',
  fileAccount: 'Account',
  fileMerchant: 'UUID of the merchant',
  fileMerchantHint: 'For a file of a merchant’s own account. Empty: an account of the instance.',
  fileFormat: 'Format',
  format_neutral: 'Cowry (type, key, reference, amount, currency, fee, status)',
  format_paystack: 'Paystack, as exported',
  format_stripe: 'Stripe, itemized payout report',
  fileCsv: 'CSV file',
  fileCsvHint: 'At most 50,000 lines and 6 MB.',
  fileCsvMissing: 'Choose a file.',
  fileFrom: 'Complete from',
  fileTo: 'Complete until',
  filePeriodHint:
    'If the file has every payment of these days, payments that it lacks are found too. Otherwise leave them empty.',
  filePreview: 'Compare only',
  fileReconcile: 'Reconcile',
  filePreviewed:
    'Nothing was changed. {matched, plural, one {# line agrees} other {# lines agree}}, and {breaks, plural, =0 {there is no difference} one {there is # difference} other {there are # differences}}. To reconcile, choose the file again.',
  fileSettled: 'Became available',
  fileIgnored: 'Other lines',
  fileBreaksFound: 'Differences found',
  fileDifferences: 'Its differences',
  fileLine: 'line {line}',
  done_file: 'The file is reconciled.',
  attentionBreaks:
    '{count, plural, one {# difference to a settlement file is not explained.} other {# differences to settlement files are not explained.}}',
  break_missing_in_ledger: 'Not in our records',
  break_missing_in_file: 'Not in the file',
  break_amount_mismatch: 'Another amount',
  break_currency_mismatch: 'Another currency',
  break_status_mismatch: 'Another status',
  break_duplicate_row: 'Twice in the file',
  break_negative_payment: 'A payment of zero or less',
  break_reference_mismatch: 'References of different records',
  break_fee_mismatch: 'Another fee',
} as const
