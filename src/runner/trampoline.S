// SPDX-License-Identifier: Apache-2.0
// void AssayTrampoline(Frame* frame) calls frame->function with the registers and the stack that the
// frame describes, and notes what the callee changed that it had to preserve.  The frame's address
// lives in memory during the call, since every register that survives a call carries a sentinel.
// Offsets are checked against the structure in call.cpp.
#define FUNCTION 0
#define INTEGERS 8
#define VECTORS 56
#define STACK 120
#define STACK_COUNT 128
#define RESULT 136
#define SAVED_RSP 144
#define EXPECTED_RSP 152
#define FLAGS 160
#define MXCSR 164
#define X87 168

#define SENTINEL_RBX $0x1b1b5a5a3c3c0001
#define SENTINEL_RBP $0x2b2b5a5a3c3c0002
#define SENTINEL_R12 $0x3b3b5a5a3c3c0003
#define SENTINEL_R13 $0x4b4b5a5a3c3c0004
#define SENTINEL_R14 $0x5b5b5a5a3c3c0005
#define SENTINEL_R15 $0x6b6b5a5a3c3c0006

    .bss
    .p2align 3
current_frame:
    .zero 8

    .text
    .p2align 4
    .globl AssayTrampoline
    .type AssayTrampoline, @function
AssayTrampoline:
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp                       // aligned to 16 from here
    movq %rdi, current_frame(%rip)
    movq %rsp, SAVED_RSP(%rdi)
    // Stack arguments, the first at the lowest address.
    movq STACK_COUNT(%rdi), %rcx
    movq STACK(%rdi), %rsi
    leaq 15(,%rcx,8), %rax
    andq $-16, %rax
    subq %rax, %rsp
    xorl %eax, %eax
1:  cmpq %rcx, %rax
    jae 2f
    movq (%rsi,%rax,8), %rdx
    movq %rdx, (%rsp,%rax,8)
    incq %rax
    jmp 1b
2:  movq %rsp, EXPECTED_RSP(%rdi)
    movsd VECTORS+0(%rdi), %xmm0
    movsd VECTORS+8(%rdi), %xmm1
    movsd VECTORS+16(%rdi), %xmm2
    movsd VECTORS+24(%rdi), %xmm3
    movsd VECTORS+32(%rdi), %xmm4
    movsd VECTORS+40(%rdi), %xmm5
    movsd VECTORS+48(%rdi), %xmm6
    movsd VECTORS+56(%rdi), %xmm7
    movq FUNCTION(%rdi), %r11
    movq INTEGERS+8(%rdi), %rsi
    movq INTEGERS+16(%rdi), %rdx
    movq INTEGERS+24(%rdi), %rcx
    movq INTEGERS+32(%rdi), %r8
    movq INTEGERS+40(%rdi), %r9
    movq INTEGERS+0(%rdi), %rdi
    movabsq SENTINEL_RBX, %rbx
    movabsq SENTINEL_RBP, %rbp
    movabsq SENTINEL_R12, %r12
    movabsq SENTINEL_R13, %r13
    movabsq SENTINEL_R14, %r14
    movabsq SENTINEL_R15, %r15
    movl $8, %eax                       // vector registers in use, for the sake of variadic callees
    call *%r11
    movq current_frame(%rip), %r11
    movq %rsp, %r10
    movq SAVED_RSP(%r11), %rsp          // whatever the callee did to it
    movq %rax, RESULT(%r11)
    xorl %edx, %edx
    pushfq
    popq %rcx
    cld
    testl $0x400, %ecx
    jz 6f
    orl $4, %edx
6:  testl $0x40000, %ecx                // a misaligned access would trap from here on
    jz 3f
    orl $16, %edx
    andl $~0x40400, %ecx
    pushq %rcx
    popfq
3:  cmpq EXPECTED_RSP(%r11), %r10
    jne 4f
    movabsq SENTINEL_RBX, %rax
    cmpq %rax, %rbx
    jne 4f
    movabsq SENTINEL_RBP, %rax
    cmpq %rax, %rbp
    jne 4f
    movabsq SENTINEL_R12, %rax
    cmpq %rax, %r12
    jne 4f
    movabsq SENTINEL_R13, %rax
    cmpq %rax, %r13
    jne 4f
    movabsq SENTINEL_R14, %rax
    cmpq %rax, %r14
    jne 4f
    movabsq SENTINEL_R15, %rax
    cmpq %rax, %r15
    je 5f
4:  orl $8, %edx
5:  movl %edx, FLAGS(%r11)
    stmxcsr MXCSR(%r11)
    fnstcw X87(%r11)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size AssayTrampoline, .-AssayTrampoline
    .section .note.GNU-stack,"",@progbits
