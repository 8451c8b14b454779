// Portuguese, in the spelling and the words of Mozambique. The texts are machine-drafted and not yet reviewed by a
// native speaker.

import type { Words } from './en.ts'

export const PT: Words = {
  // The frame
  testMode: 'Modo de teste: não há movimento de dinheiro real',
  language: 'Idioma',
  help: 'Precisa de ajuda? Contacte {merchant}',
  helpWebsite: 'Site',
  securedBy: 'Pagamentos geridos com Cowry',
  neverSharePin: 'Nunca partilhe o seu PIN. Nunca o pedimos nesta página.',

  // The open checkout
  payTitle: 'Pagar {amount} a {merchant}',
  payButton: 'Pagar {amount}',
  howToPay: 'Como deseja pagar?',
  card: 'Cartão',
  cardHint: 'Os dados do cartão são introduzidos na página segura do prestador de pagamentos.',
  mobileMoney: 'Carteira móvel',
  mobileMoneyHint: 'Aparece um pedido no seu telemóvel. Aprove-o com o seu PIN.',
  bankTransfer: 'Transferência bancária',
  bankTransferHint: 'Mostramos-lhe uma conta para onde enviar o dinheiro.',
  phone: 'Número da carteira móvel',
  phoneExample: 'Por exemplo {example}',
  phoneInternational: 'Com o indicativo do país, por exemplo +254 712 345 678',
  network: 'Operadora móvel',
  networkFromNumber: 'Identificar pelo meu número',
  testOutcome: 'Modo de teste: o que deve acontecer?',
  cancelAndReturn: 'Cancelar e voltar',
  cancelPayment: 'Cancelar o pagamento',
  paymentFor: 'Motivo',
  reference: 'Referência',
  amount: 'Valor',
  paidTo: 'Beneficiário',
  openUntil: 'Pode pagar aqui até {time}.',
  closesSoon:
    'Esta página fecha em {minutes, plural, =0 {menos de um minuto} one {# minuto} many {# de minutos} other {# minutos}}.',
  moreTime: 'Preciso de mais tempo',

  // What has to be corrected
  problemTitle: 'Por favor, verifique isto',
  problemChoice: 'Escolha como deseja pagar.',
  problemPhone: 'Introduza um número de telemóvel que possa receber um pedido de pagamento.',
  problemNetwork: 'Escolha a sua operadora móvel: não a conseguimos identificar por este número.',
  problemWaitMinutes:
    'Foram enviados demasiados pedidos para este número. Tente de novo daqui a {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}, ou pague de outra forma.',
  problemWaitSeconds:
    'Foi enviado há instantes um pedido para este número. Tente de novo daqui a {seconds, plural, one {# segundo} many {# de segundos} other {# segundos}}.',

  // Why an attempt was declined
  failureInsufficientFunds: 'O saldo não chega para {amount} e a taxa do seu banco ou operadora.',
  failureDoNotHonor: 'O seu banco recusou este pagamento.',
  failureCardExpired: 'Este cartão expirou.',
  failureInvalidCard: 'Este cartão não pode ser usado aqui.',
  failureAuthenticationRequired: 'O seu banco pede que aprove este pagamento.',
  failureAuthenticationFailed: 'O seu banco não conseguiu confirmar a sua identidade.',
  failureLimitExceeded: 'Este pagamento ultrapassa um limite do seu cartão ou da sua carteira móvel.',
  failureSuspectedFraud: 'Este pagamento foi recusado.',
  failureCustomerCancelled: 'O pagamento não foi aprovado.',
  failureCustomerTimeout: 'Não recebemos a sua aprovação a tempo.',
  failureWalletNotFound: 'Este número não tem carteira móvel.',
  failureProviderUnavailable: 'O prestador de pagamentos não está a responder.',
  failureDuplicate: 'O prestador de pagamentos já conhece este pagamento.',
  failureUnknown: 'O pagamento não foi aceite.',
  adviceAgain: 'Tente de novo, ou pague de outra forma.',
  adviceWhenReady: 'Tente de novo quando tiver o telemóvel à mão.',
  adviceAnotherWay: 'Por favor, pague de outra forma.',
  adviceDifferentCard: 'Tente com outro cartão ou pague de outra forma.',
  adviceTopUp: 'Reforce o saldo e tente de novo, ou pague de outra forma.',
  adviceApprove: 'Tente de novo e aprove o pagamento.',
  adviceChangeNumber: 'Verifique o número, ou pague de outra forma.',
  notCharged: 'Não lhe foi cobrado nada.',

  // Waiting for the approval on the phone
  promptTitle: 'Veja o seu telemóvel',
  promptOpen: 'Abra no seu telemóvel o pedido enviado por {name}.',
  promptPin: 'Introduza o seu PIN no telemóvel.',
  promptWait: 'Aguarde aqui. Esta página mostra o resultado automaticamente.',
  promptSentTo: 'Enviado para {phone}, {network}',
  promptDeadline: 'Aprove-o até {time}. Este limite é definido por {network}.',
  timeLeft: 'Tempo restante',
  minuteLeft: 'Falta um minuto',
  secondsLeft: 'Faltam dez segundos',
  promptMissing: 'Não recebeu o pedido?',
  promptSignal: 'Verifique se o seu telemóvel está ligado e tem rede.',
  promptDial: 'Marque {code} e procure um pagamento à espera da sua aprovação.',
  dial: 'Marcar {code}',
  changeNumber: 'Mudar o número ou pagar de outra forma',
  onlyWithoutPin: 'Continue apenas se não introduziu o seu PIN.',
  anotherWay: 'Pagar de outra forma',
  onlyIfNotPaid: 'Continue apenas se não pagou na outra página.',
  onlyIfNotSent: 'Continue apenas se não enviou o dinheiro.',
  checkNow: 'Verificar agora',
  waiting: 'Estamos a aguardar o resultado. Esta página mostra-o automaticamente.',

  // Waiting for a transfer
  transferTitle: 'Envie exactamente {amount}',
  bank: 'Banco',
  accountNumber: 'Número da conta',
  accountName: 'Nome da conta',
  transferReference: 'Referência a indicar',
  copy: 'Copiar',
  copyWhat: 'Copiar: {what}',
  copied: 'Copiado',
  transferDeadline: 'Esta conta recebe o seu dinheiro até {time}. Este limite é definido pelo banco.',
  transferLate: 'O dinheiro que chegar depois é associado ao pagamento ou devolvido.',
  haveSent: 'Já enviei o dinheiro',
  lookingTitle: 'Estamos à procura da sua transferência',
  lookingText:
    'A maioria dos bancos precisa de alguns minutos. Esta página mostra o resultado automaticamente; também a pode fechar.',
  showAccount: 'Ver a conta de novo',

  // Going to the provider's page, and not knowing
  continueTitle: 'Continue na página de pagamento',
  continueText:
    'Vai pagar {amount} a {merchant} em {site}, a página do prestador de pagamentos, e depois volta a esta página.',
  continueButton: 'Continuar para {site}',
  momentTitle: 'Um momento',
  momentText: 'Ainda não sabemos se este pagamento foi concluído. Por favor, aguarde e não pague de novo.',
  slowTitle: 'Está a demorar mais do que o habitual',
  slowText:
    'Pode fechar esta página. Comunicamos o resultado a {merchant}, e este endereço mostra-o. Não pague de novo, a não ser que indiquemos que o pagamento falhou.',

  // The end
  paidTitle: 'Pagamento concluído',
  paidText: 'Pagou {amount} a {merchant}.',
  method: 'Meio de pagamento',
  receiptNumber: 'Número do recibo',
  time: 'Data e hora',
  status: 'Estado',
  returnTo: 'Voltar a {merchant}',
  returnSoon:
    'Vai voltar a {merchant} daqui a {seconds, plural, one {# segundo} many {# de segundos} other {# segundos}}.',
  stay: 'Ficar aqui',
  receipt: 'Recibo',
  showReceipt: 'Ver o recibo',
  print: 'Imprimir ou guardar',
  backToPayment: 'Voltar ao pagamento',
  alreadyPaidTitle: 'Já pago em {time}',
  alreadyPaidText: 'Este pagamento está concluído. Não há mais nada a pagar.',
  paidLateTitle: 'Pago depois do prazo',
  paidLateText:
    'O seu dinheiro chegou depois de este pagamento ter sido encerrado. Já avisámos {merchant}: por favor, pergunte o que acontece com a sua encomenda.',
  refundedText: 'Este pagamento foi reembolsado.',
  partlyRefundedText: 'Uma parte deste pagamento foi reembolsada: {amount}.',
  disputedText: 'O seu banco está a analisar este pagamento.',
  reversedText: 'O prestador de pagamentos reverteu este pagamento.',
  failedTitle: 'O pagamento não foi concluído',
  failedText: 'Este pagamento está encerrado. Volte a {merchant} para começar de novo.',
  underpaidTitle: 'Recebemos {paid} de {amount}',
  underpaidText:
    'Falta uma parte do dinheiro. Por favor, pergunte a {merchant} como enviar o resto ou recuperar o seu dinheiro. Não pague de novo antes disso.',
  overpaidTitle: 'Recebemos {paid} em vez de {amount}',
  overpaidText:
    'É mais do que o valor pedido. Por favor, pergunte a {merchant} como recuperar a diferença. Não pague de novo.',
  checkingTitle: 'Estamos a verificar este pagamento',
  mismatchTitle: 'Recebemos um valor diferente',
  mismatchText: 'Por favor, pergunte a {merchant} o que fazer. Não pague de novo antes disso.',
  expiredTitle: 'Este link de pagamento expirou',
  expiredText: 'Volte a {merchant} para obter um novo link.',
  cancelledTitle: 'Pagamento cancelado',
  cancelledText: 'Pode fechar esta página, ou voltar a {merchant} para começar de novo.',
  ifSentMoney:
    'Se já aprovou ou enviou dinheiro, este é associado ao pagamento ou devolvido. Pergunte a {merchant} antes de pagar de novo.',

  // When there is nothing to show
  notFoundTitle: 'Não encontramos este pagamento',
  notFoundText: 'Verifique o endereço, ou peça um novo link à loja.',
  missingTitle: 'Não há nada aqui',
  missingText: 'Verifique o endereço.',
  refusedTitle: 'Isto não é possível',
  refusedText: 'Volte atrás e tente de novo.',
  busyTitle: 'Demasiados pedidos',
  busyText: 'Aguarde um momento e tente de novo.',
  errorTitle: 'Isto não funcionou',
  errorText:
    'O erro é nosso, não seu. Abra esta página de novo daqui a pouco para ver o estado do pagamento.',
  requestId: 'Pedido {id}',
}
