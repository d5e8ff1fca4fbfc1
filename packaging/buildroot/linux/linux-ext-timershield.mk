################################################################################
#
# Patch the linux kernel with TimerShield
#
################################################################################

LINUX_EXTENSIONS += timershield

define TIMERSHIELD_PREPARE_KERNEL
	$(BR2_EXTERNAL_TIMERSHIELD_PATH)/../../kernel/apply $(LINUX_DIR)
endef
